import { useRef, useState } from "react";
import type { Issue } from "#shared/client/errors.ts";
import { useFocusOnRefusal } from "../../forms/use-api-form.ts";
import { type Draft, draftOf, issuesWithout, type RawAction, type Step } from "./draft.ts";

export type DraftState = ReturnType<typeof useDraft>;

/** The draft and what the API said about it. A message disappears when the field it is about changes. */
export function useDraft(read: Record<string, unknown>) {
  const [draft, setDraft] = useState<Draft>(() => draftOf(read));
  const [changed, setChanged] = useState(false);
  const [issues, setIssues] = useState<Issue[]>([]);
  const change = (next: (now: Draft) => Draft, ...at: (string | number)[]) => {
    setChanged(true);
    setDraft(next);
    setIssues((now) => issuesWithout(now, ...at));
  };
  const element = useRef<HTMLDivElement>(null);
  const focus = useFocusOnRefusal(element);
  return {
    draft,
    changed,
    issues,
    element,
    /** The API's errors for it; the first wrong field gets the focus. */
    refuse: (said: Issue[]) => {
      setIssues(said);
      focus();
    },
    setHead: (name: string, value: unknown) =>
      change((now) => ({ ...now, head: { ...now.head, [name]: value } }), name),
    setSteps: (steps: Step[]) => change((now) => ({ ...now, steps }), "actions"),
    setAction: (index: number, action: RawAction) =>
      change(
        ({ head, steps }) => ({
          head,
          steps: steps.map((step, i) => (i === index ? { ...step, action } : step)),
        }),
        "actions",
        index,
      ),
    replace: (next: Draft) => change(() => next),
  };
}

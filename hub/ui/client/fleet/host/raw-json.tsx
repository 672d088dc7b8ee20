import { Textarea } from "@mantine/core";
import { useState } from "react";
import { errorText } from "../../lib/query.ts";
import { draftFromText, recordOf } from "./draft.ts";
import type { DraftState } from "./use-draft.ts";

/** The whole recipe as JSON: what is written here is what the steps show, as soon as it can be read. */
export function RawJson({ state }: { state: DraftState }) {
  const [text, setText] = useState(() => JSON.stringify(recordOf(state.draft), null, 2));
  const [error, setError] = useState<string | null>(null);
  const change = (next: string) => {
    setText(next);
    try {
      state.replace(draftFromText(next, state.draft));
      setError(null);
    } catch (err) {
      setError(`Not applied: ${errorText(err)}`);
    }
  };
  return (
    <Textarea
      label="JSON"
      autosize
      minRows={12}
      maxRows={40}
      spellCheck={false}
      styles={{ input: { fontFamily: "var(--mono)", fontSize: 12 } }}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
      error={error}
    />
  );
}

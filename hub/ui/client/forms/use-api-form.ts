import { type FormErrors, useForm } from "@mantine/form";
import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import { type ChangeOptions, useChange } from "../lib/query.ts";
import { type Faults, faultsOf } from "./faults.ts";
import type { Rules } from "./rules.ts";

/** `quiet` by default, because a form shows what was wrong. */
interface ApiFormOptions<V, B extends object, Out> extends ChangeOptions<B, Out> {
  /** Laid out like the body, so the API's error for `viewport.width` appears at that field. */
  initial: V;
  /** What the schema of the body says; see rules-macro.ts. */
  rules: Rules;
  bodyOf: (values: V) => B;
  /** What only this form knows to be wrong, by the paths of fields. */
  check?: (values: V) => Faults;
  send: (body: B) => Promise<Out>;
  /** Where a place that the API names is in this form, where the body is part of a larger one. */
  fieldAt?: (path: string) => string;
  /** Gets the paths of the fields that are wrong: some may be in a part that is folded. */
  onRefused?: (paths: readonly string[]) => void;
  /** Once it is sent the form is as it was at first. */
  resets?: boolean;
}

const asIs = (path: string) => path;

/** The API's errors by the paths of fields: an error of a list's item is shown at the list. */
function faultsIn(error: unknown, rules: Rules, fieldAt = asIs): Faults {
  const faults: Faults = {};
  for (const { loc, msg } of error instanceof FlotillaError ? error.issues : []) {
    const whole = fieldAt(loc.slice(1).join("."));
    const [first = "", second] = whole.split(".");
    const path =
      `${first}.${second}` in rules ? `${first}.${second}` : first in rules ? first : whole;
    faults[path] = path in faults ? `${faults[path]}; ${msg}` : msg;
  }
  return faults;
}

/** Errors of a field, or of a part of it: `egress` and `egress.allow`. */
export const faultAt = (errors: FormErrors, field: string): string | undefined =>
  Object.entries(errors).find(([path]) => path === field || path.startsWith(`${field}.`))?.[1] as
    | string
    | undefined;

/** A field may be in a part that opens only now. */
const FRAMES = 30;

function focusFirst(form: HTMLElement | null, frames = FRAMES): void {
  const wrong = form?.querySelector<HTMLElement>('[aria-invalid="true"]');
  wrong?.focus();
  if (frames > 0 && (!wrong || document.activeElement !== wrong))
    requestAnimationFrame(() => focusFirst(form, frames - 1));
}

/** Puts the focus into the first field that is wrong, in the order of the page, each time a form was refused. */
export function useFocusOnRefusal(form: RefObject<HTMLElement | null>) {
  const [refusals, setRefusals] = useState(0);
  useEffect(() => {
    if (refusals > 0) focusFirst(form.current);
  }, [refusals, form]);
  return () => setRefusals((before) => before + 1);
}

/**
 * A form for a body of the API: judged by the rules of its schema before it is sent, and by what the API said after it;
 * each fault is shown at its field until that is changed, and the first one gets the focus.
 */
export function useApiForm<V extends object, B extends object, Out>(
  options: ApiFormOptions<V, B, Out>,
) {
  const { initial, rules, bodyOf, check, send, fieldAt, onRefused, resets, ...change } = options;
  const element = useRef<HTMLFormElement>(null);
  const focus = useFocusOnRefusal(element);
  const refused = (errors: FormErrors) => {
    onRefused?.(Object.keys(errors));
    focus();
  };
  const form = useForm<V>({
    initialValues: initial,
    validate: (values) => {
      const own = check?.(values);
      // Named first, and said instead of what a rule says.
      return { ...own, ...faultsOf(rules, bodyOf(values)), ...own };
    },
  });
  const saving = useChange(send, {
    quiet: true,
    ...change,
    onDone: (out, sent) => {
      if (resets) form.reset();
      return change.onDone?.(out, sent);
    },
  });
  const save = (values: V) =>
    saving.mutate(bodyOf(values), {
      onError: (error) => {
        const faults = faultsIn(error, rules, fieldAt);
        form.setErrors(faults);
        refused(faults);
      },
    });
  const submit = form.onSubmit(save, refused);
  return {
    form,
    saving,
    /** For the form's element. */
    props: {
      ref: element,
      noValidate: true,
      onSubmit: (event: FormEvent<HTMLFormElement>) => submit(event),
    },
  };
}

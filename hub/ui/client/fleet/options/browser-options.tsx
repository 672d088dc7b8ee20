import { Accordion } from "@mantine/core";
import type { FormErrors } from "@mantine/form";
import { useState } from "react";
import { BROWSER_FIELDS, DEFAULTS, type Options } from "./fields.ts";
import { FoldedOptions } from "./folded-options.tsx";
import { OptionInput } from "./option-input.tsx";
import { issuesIn, outdatedErrors, withOption } from "./values.ts";

interface BrowserOptionsProps {
  /** Those that are set. */
  given: Options;
  /** Of the form's body, which has them below `at`; "": beside its other fields. */
  form: { errors: FormErrors; clearFieldError(path: string): void };
  at: string;
  onChange: (given: Options) => void;
}

/** What a session or a host says of its browser, folded until it is needed (rules/browser-options#the-options). */
export function BrowserOptions({ given, form, at, onChange }: BrowserOptionsProps) {
  const [opened, setOpened] = useState(false);
  const issues = issuesIn(form.errors, at);
  // A field that the API refused is in sight.
  const wrong = BROWSER_FIELDS.some(({ name }) => issues.has(name));
  const change = (next: Options) => {
    outdatedErrors(form.errors, given, next, at).forEach(form.clearFieldError);
    onChange(next);
  };
  return (
    <Accordion
      variant="contained"
      keepMounted={false}
      value={opened || wrong ? "browser" : null}
      onChange={(item) => setOpened(item !== null)}
    >
      <FoldedOptions
        name="browser"
        title="What pages see and load"
        changed={Object.keys(given).length}
      >
        {BROWSER_FIELDS.map((field) => (
          <OptionInput
            key={field.name}
            field={field}
            value={given[field.name]}
            base={DEFAULTS[field.name] ?? null}
            fromPreset={false}
            error={issues.get(field.name)}
            onChange={(value) => change(withOption(given, DEFAULTS, field.name, value))}
          />
        ))}
      </FoldedOptions>
    </Accordion>
  );
}

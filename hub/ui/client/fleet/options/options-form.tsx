import { Accordion, Stack } from "@mantine/core";
import { useEffect, useState } from "react";
import { DEFAULTS, type OptionField, type Options } from "./fields.ts";
import { FoldedOptions } from "./folded-options.tsx";
import { type OptionGroup, shownOptions } from "./groups.ts";
import { OptionInput } from "./option-input.tsx";
import { usePicks } from "./picks.ts";
import { type Issues, NO_ISSUES, withOption } from "./values.ts";

interface OptionsFormProps {
  /** What differs from the preset and the defaults. */
  given: Options;
  onChange: (given: Options) => void;
  /** Options of the chosen preset. */
  preset?: Options;
  issues?: Issues;
}

/** Part of an element's id, which must hold no space. */
const keyOf = ({ title }: OptionGroup): string => title.replaceAll(" ", "-");

/** Every option of a job: what most jobs need first, the others folded in groups. */
export function OptionsForm({
  given,
  onChange,
  preset = {},
  issues = NO_ISSUES,
}: OptionsFormProps) {
  const [opened, setOpened] = useState<string[]>([]);
  const picks = usePicks();
  const base = { ...DEFAULTS, ...preset };
  const { simple, groups } = shownOptions(given, String(given.mode ?? base.mode));
  const wrong = groups.filter(({ fields }) => fields.some(({ name }) => issues.has(name)));
  const wrongKeys = wrong.map(keyOf).join(" ");
  useEffect(() => {
    // It stays open while faults in it are corrected.
    if (wrongKeys !== "") setOpened((before) => [...new Set([...before, ...wrongKeys.split(" ")])]);
  }, [wrongKeys]);
  const input = (field: OptionField) => (
    <OptionInput
      key={field.name}
      field={field}
      value={given[field.name]}
      base={base[field.name] ?? null}
      fromPreset={field.name in preset}
      error={issues.get(field.name)}
      pick={picks[field.name]}
      onChange={(value) => onChange(withOption(given, base, field.name, value))}
    />
  );
  return (
    <Stack>
      {simple.map(input)}
      <Accordion
        multiple
        variant="contained"
        order={3}
        keepMounted={false}
        // A field that the API refused is in sight whether its group is folded or not.
        value={[...new Set([...opened, ...wrong.map(keyOf)])]}
        onChange={setOpened}
      >
        {groups.map((group) => (
          <FoldedOptions
            key={group.title}
            name={keyOf(group)}
            title={group.title}
            changed={group.fields.filter(({ name }) => name in given).length}
          >
            {group.fields.map(input)}
          </FoldedOptions>
        ))}
      </Accordion>
    </Stack>
  );
}

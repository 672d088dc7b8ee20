import { Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { FilterGroup } from "../../parts/filter-group.tsx";
import { MomentField } from "../../parts/moment-field.tsx";

export const DEFAULTS = {
  host: "",
  service: "",
  min_level: "",
  q: "",
  since: "",
  until: "",
  follow: "on",
};
type LogFilters = typeof DEFAULTS;

const LEVELS = [
  { value: "info", label: "info and above" },
  { value: "warn", label: "warn and above" },
  { value: "error", label: "error" },
];

interface FilterBarProps {
  filters: LogFilters;
  set: (changed: Partial<LogFilters>) => void;
}

function Words({
  filters,
  set,
  name,
  label,
}: FilterBarProps & { name: "q" | "host" | "service"; label: string }) {
  // Requested when typing has ended, not at every letter.
  const [text, setText] = useState(filters[name]);
  const apply = () => {
    if (text !== filters[name]) set({ [name]: text });
  };
  return (
    <TextInput
      size="xs"
      w={name === "q" ? 200 : 140}
      label={label}
      data-filter={name === "q" || undefined}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply();
      }}
    />
  );
}

/** Every filter of the lines; all of them are part of the address. */
export function FilterBar({ filters, set }: FilterBarProps) {
  const both = { filters, set };
  const { q, follow: _, ...others } = filters;
  const further = Object.values(others).filter((value) => value !== "").length;
  return (
    <FilterGroup
      label="Filter the lines"
      set={further}
      first={<Words key={`q ${q}`} {...both} name="q" label="Text" />}
    >
      <Words key={`host ${filters.host}`} {...both} name="host" label="Host" />
      <Words key={`service ${filters.service}`} {...both} name="service" label="Service" />
      <Select
        size="xs"
        w={150}
        label="Level"
        placeholder="every level"
        clearable
        data={LEVELS}
        value={filters.min_level || null}
        onChange={(value) => set({ min_level: value ?? "" })}
      />
      <MomentField
        size="xs"
        label="Since"
        value={filters.since}
        onChange={(since) => set({ since })}
      />
      <MomentField
        size="xs"
        label="Until"
        value={filters.until}
        onChange={(until) => set({ until })}
      />
      {(q !== "" || further > 0) && (
        <Button
          size="xs"
          variant="default"
          onClick={() => set({ ...DEFAULTS, follow: filters.follow })}
        >
          Clear
        </Button>
      )}
    </FilterGroup>
  );
}

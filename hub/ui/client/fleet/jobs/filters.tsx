import { Button, Select, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { choicesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { momentOf, momentText } from "../../lib/moments.ts";
import { useGet } from "../../lib/query.ts";
import { FilterGroup } from "../../parts/filter-group.tsx";
import { TypedFilter } from "../../parts/typed-filter.tsx";
import { type JobFilters, NO_FILTERS } from "./job-filters.ts";

const STATUSES = choicesOf("JobStatus");
/** As the captures of Home are counted. */
const RESULTS: Record<string, string> = {
  completed: "Completed, no HTTP error",
  http_error: "Completed, HTTP error",
  failed: "Failed",
  cancelled: "Cancelled",
};
const MODES = choicesOf("JobMode");

/** As wide as there is room, beginning with so many pixels. */
const wide = (basis: number) => ({ flex: `1 1 ${basis}px` });

function Choice(props: {
  label: string;
  data: string[];
  /** What each is called where that is not its value. */
  words?: Record<string, string>;
  value: string;
  basis: number;
  onChange: (value: string) => void;
}) {
  const { data, words = {}, value, onChange, basis, ...rest } = props;
  const choices = value === "" || data.includes(value) ? data : [...data, value];
  return (
    <Select
      {...rest}
      style={wide(basis)}
      size="xs"
      placeholder="Any"
      clearable
      clearButtonProps={{ "aria-label": `Any ${props.label.toLowerCase()}` }}
      data={choices.map((choice) => ({ value: choice, label: words[choice] ?? choice }))}
      value={value === "" ? null : value}
      onChange={(next) => onChange(next ?? "")}
    />
  );
}

function Moment(props: { label: string; value: string; onChange: (iso: string) => void }) {
  return (
    <TextInput
      size="xs"
      type="datetime-local"
      style={{ flex: "1 1 180px" }}
      label={props.label}
      value={momentText(props.value)}
      onChange={(event) => props.onChange(momentOf(event.currentTarget.value))}
    />
  );
}

interface FiltersProps {
  filters: JobFilters;
  onChange: (changed: Partial<JobFilters>) => void;
}

export function Filters({ filters, onChange }: FiltersProps) {
  const { data } = useGet("/workers");
  const set = (name: keyof JobFilters) => (value: string) => onChange({ [name]: value, page: "" });
  const { words, page: _, ...others } = filters;
  const further = Object.values(others).filter((value) => value !== "").length;
  return (
    <FilterGroup
      label="Filter the jobs"
      set={further}
      first={
        <TypedFilter
          size="xs"
          label="Words of title, address or error"
          value={words}
          onChange={set("words")}
          icon={<IconSearch size={14} />}
          filter
          style={wide(190)}
        />
      }
    >
      <TypedFilter
        size="xs"
        label="Address has"
        value={filters.q}
        onChange={set("q")}
        style={wide(130)}
      />
      <TypedFilter
        size="xs"
        label="Label"
        value={filters.label}
        onChange={set("label")}
        style={wide(110)}
      />
      <Choice
        label="Status"
        data={STATUSES}
        value={filters.status}
        onChange={set("status")}
        basis={104}
      />
      <Choice
        label="Result"
        data={Object.keys(RESULTS)}
        words={RESULTS}
        value={filters.result}
        onChange={set("result")}
        basis={128}
      />
      <Choice label="Mode" data={MODES} value={filters.mode} onChange={set("mode")} basis={104} />
      <TypedFilter
        size="xs"
        label="Host"
        value={filters.host}
        onChange={set("host")}
        style={wide(104)}
      />
      <Choice
        label="Worker"
        data={data?.workers.map(({ worker_id }) => worker_id) ?? []}
        value={filters.worker}
        onChange={set("worker")}
        basis={88}
      />
      <Moment label="Created from" value={filters.since} onChange={set("since")} />
      <Moment label="Created until" value={filters.until} onChange={set("until")} />
      {(words !== "" || further > 0) && (
        <Button size="xs" variant="default" onClick={() => onChange(NO_FILTERS)}>
          No filters
        </Button>
      )}
    </FilterGroup>
  );
}

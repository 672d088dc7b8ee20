import { Alert, Button, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { AuditEntry } from "#shared/protocol/schema/audit.ts";
import { useChosen } from "../lib/chosen.ts";
import { useFilters } from "../lib/filters.ts";
import { useGet } from "../lib/query.ts";
import { Beside } from "../parts/beside.tsx";
import { type Column, DataTable } from "../parts/data-table.tsx";
import { Fact, FactList } from "../parts/facts.tsx";
import { FilterGroup } from "../parts/filter-group.tsx";
import { MomentField } from "../parts/moment-field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { cursorOf, Pager } from "../parts/pager.tsx";
import { Empty, Loadable } from "../parts/states.tsx";
import { Ago, Clip } from "../parts/text.tsx";

const LIMIT = 100;
const EVERY_MS = 10_000;
const NONE = { who: "", method: "", route: "", status: "", since: "", until: "" };
type Filters = typeof NONE;

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET"];
const STATUSES = [
  { value: "2xx", label: "done" },
  { value: "4xx", label: "refused or wrong" },
  { value: "401", label: "401, not logged in" },
  { value: "403", label: "403, not allowed" },
  { value: "5xx", label: "failed" },
];

const WORDS: Partial<Record<AuditEntry["caller"]["kind"], string>> = { open: "anybody" };
const whoText = ({ caller: { kind, name, role } }: AuditEntry): string =>
  `${name ?? WORDS[kind] ?? kind}${role === null || role === name ? "" : ` (${role})`}`;
const whatText = ({ method, path }: AuditEntry): string => `${method} ${path}`;

const COLUMNS: Column<AuditEntry>[] = [
  { key: "at", title: "When", width: "96px", cell: ({ at }) => <Ago at={at} /> },
  {
    key: "who",
    title: "Who",
    width: "minmax(64px, 1fr)",
    cell: (entry) => <Clip text={whoText(entry)} />,
  },
  {
    key: "from",
    title: "From",
    width: "minmax(100px, 1fr)",
    from: "md",
    cell: ({ address }) => <Clip text={address} mono />,
  },
  {
    key: "what",
    title: "What",
    width: "minmax(90px, 3fr)",
    cell: (entry) => <Clip text={whatText(entry)} mono />,
  },
  { key: "status", title: "Status", width: "76px", align: "end", cell: ({ status }) => status },
  {
    key: "times",
    title: "Times",
    width: "70px",
    from: "sm",
    align: "end",
    cell: ({ times }) => times,
  },
  {
    key: "error",
    title: "Error",
    width: "minmax(100px, 2fr)",
    from: "md",
    cell: ({ error }) => <Clip text={error ?? ""} />,
  },
];

interface FilterBarProps {
  filters: Filters;
  set: (changed: Partial<Filters>) => void;
}

function Words({
  filters,
  set,
  name,
  label,
}: FilterBarProps & { name: "who" | "route"; label: string }) {
  // Requested when typing has ended, not at every letter.
  const [text, setText] = useState(filters[name]);
  const apply = () => {
    if (text.trim() !== filters[name]) set({ [name]: text.trim() });
  };
  return (
    <TextInput
      label={label}
      placeholder="all"
      w={190}
      data-filter={name === "who" || undefined}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === "Enter") apply();
      }}
    />
  );
}

function FilterBar({ filters, set }: FilterBarProps) {
  const both = { filters, set };
  const { who, ...others } = filters;
  const further = Object.values(others).filter(Boolean).length;
  return (
    <FilterGroup
      label="Filter the entries"
      set={further}
      first={<Words key={`who ${who}`} {...both} name="who" label="Caller or address" />}
    >
      <Select
        label="Method"
        placeholder="all"
        clearable
        w={110}
        data={METHODS}
        value={filters.method || null}
        onChange={(method) => set({ method: method ?? "" })}
      />
      <Words key={`route ${filters.route}`} {...both} name="route" label="Route" />
      <Select
        label="Status"
        placeholder="all"
        clearable
        w={180}
        data={STATUSES}
        value={filters.status || null}
        onChange={(status) => set({ status: status ?? "" })}
      />
      <MomentField
        label="Since"
        w={210}
        value={filters.since}
        onChange={(since) => set({ since })}
      />
      <MomentField
        label="and before"
        w={210}
        value={filters.until}
        onChange={(until) => set({ until })}
      />
      {(who !== "" || further > 0) && (
        <Button variant="subtle" onClick={() => set(NONE)}>
          Show all
        </Button>
      )}
    </FilterGroup>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  return (
    <FactList label="Entry">
      <Fact name="When">{entry.at}</Fact>
      <Fact name="Who">{whoText(entry)}</Fact>
      <Fact name="Shown by">{entry.caller.kind}</Fact>
      {entry.caller.token_id !== null && <Fact name="Token">{entry.caller.token_id}</Fact>}
      <Fact name="From" copy={entry.address}>
        {entry.address}
      </Fact>
      <Fact name="Call" copy={whatText(entry)}>
        {whatText(entry)}
      </Fact>
      <Fact name="Route">{entry.route ?? "none answers this path"}</Fact>
      <Fact name="Status">{entry.status}</Fact>
      {entry.error !== null && <Fact name="Error">{entry.error}</Fact>}
      <Fact name="Times">{entry.times}</Fact>
      <Fact name="Hub">{entry.hub}</Fact>
    </FactList>
  );
}

/** Who changed what. */
export function Page() {
  const [{ page, ...filters }, setAll] = useFilters({ ...NONE, page: "" });
  const { chosen, choose, close } = useChosen();
  const query = useGet(
    "/audit",
    { query: { ...filters, limit: LIMIT, cursor: cursorOf(page) } }, // Somebody who declined to give the password is not asked again.
    { refetchInterval: ({ state }) => (state.data ? EVERY_MS : false) },
  );
  const set = (changed: Partial<Filters>) => setAll({ ...changed, page: "" });
  const shown = query.data?.entries.find(({ id }) => String(id) === chosen);
  return (
    <>
      <PageHead
        title="Audit"
        note="Who changed something, took over a browser or was refused, newest first."
      />
      <Beside name="audit" title="Call" detail={shown && <Entry entry={shown} />} onClose={close}>
        <FilterBar filters={filters} set={set} />
        <Loadable query={query}>
          {({ entries, next_cursor, dropped }) => (
            <>
              {dropped > 0 && (
                <Alert color="yellow" mb="sm" title="Some calls were not recorded">
                  This hub could not store {dropped} of them since it was started.
                </Alert>
              )}
              {entries.length > 0 ? (
                <DataTable
                  label="Audit log"
                  columns={COLUMNS}
                  rows={entries}
                  rowKey={({ id }) => String(id)}
                  current={chosen}
                  onOpen={({ id }) => choose(String(id))}
                />
              ) : (
                <Empty
                  title="No entries"
                  command={`curl -H 'X-Admin-Password: …' '${location.origin}/audit?limit=20'`}
                >
                  Nothing matches the filters. Entries are kept for SVC_AUDIT_DAYS days.
                </Empty>
              )}
              <Pager
                trail={page}
                next={next_cursor}
                shown={entries.length}
                onGo={(trail) => setAll({ page: trail }, { push: true })}
              />
            </>
          )}
        </Loadable>
      </Beside>
    </>
  );
}

import { ActionIcon, Select, TextInput } from "@mantine/core";
import { IconFilter } from "@tabler/icons-react";
import { type ReactNode, useMemo, useState } from "react";
import type { HarEntry } from "#shared/protocol/schema/har.ts";
import { useFilters } from "../../../lib/filters.ts";
import { bytesText, countText, durationText } from "../../../lib/units.ts";
import { MomentList, type MomentRow } from "./moment-list.tsx";
import { RequestDetail } from "./request-detail.tsx";

interface RequestsProps {
  rows: readonly MomentRow[];
  ms: number;
  /** Of those there are in the whole run. */
  all: number;
  onSeek: (ms: number) => void;
  empty: ReactNode;
  /** The chosen time. */
  chip: ReactNode;
  whole_ms: number;
  /** Whose assets have the bodies; null where there are none. */
  job_id: string | null;
}

/** What the page asked for and got; one of them opens below. */
export function Requests({ rows, ms, all, onSeek, empty, chip, whole_ms, job_id }: RequestsProps) {
  const [filters, setFilters] = useFilters({ q: "", type: "", request: "" });
  const [open, setOpen] = useState(filters.q !== "" || filters.type !== "");
  const types = useMemo(
    () => [...new Set(rows.map(({ note }) => note ?? ""))].filter(Boolean).sort(),
    [rows],
  );
  const wanted = filters.q.toLowerCase();
  const shown = useMemo(
    () =>
      rows.filter(
        ({ name, text, note }) =>
          (filters.type === "" || note === filters.type) &&
          `${name} ${text}`.toLowerCase().includes(wanted),
      ),
    [rows, wanted, filters.type],
  );
  const site = hostOf(rows[0]?.har?.request.url ?? "");
  const bytes = shown.reduce(
    (sum, { har }) => sum + Math.max(0, har?.response.content.size ?? 0),
    0,
  );
  const opened = shown.find(({ key }) => key === filters.request);
  return (
    <>
      <div className="player-chosen">
        {chip}
        <span>
          {shown.length === all ? "" : `${countText(shown.length)} of `}
          {countText(all)} {all === 1 ? "request" : "requests"}, {bytesText(bytes)}
        </span>
        <ActionIcon
          size="sm"
          variant="subtle"
          color="gray"
          aria-label="Filter the requests"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <IconFilter size={14} />
        </ActionIcon>
      </div>
      {open && (
        <div className="player-filter">
          <TextInput
            size="xs"
            data-filter
            aria-label="Address, method or status"
            placeholder="Address, method or status…"
            value={filters.q}
            onChange={(event) => setFilters({ q: event.currentTarget.value })}
          />
          <Select
            size="xs"
            aria-label="Type"
            placeholder="Every type"
            clearable
            data={types}
            value={filters.type || null}
            onChange={(type) => setFilters({ type: type ?? "" })}
          />
        </div>
      )}
      <MomentList
        label="Requests"
        rows={shown}
        ms={ms}
        current={filters.request}
        empty={rows.length === 0 ? empty : "No request matches."}
        onOpen={(row) => {
          onSeek(row.at_ms);
          setFilters({ request: row.key === filters.request ? "" : row.key });
        }}
      >
        {(row) =>
          row.har ? (
            <RequestLine
              har={row.har}
              site={site}
              at_ms={row.at_ms}
              whole_ms={whole_ms}
              row={row}
            />
          ) : (
            <span className="player-line">
              <b className="player-line-name">{row.name}</b>
              <span className="text">{row.text}</span>
            </span>
          )
        }
      </MomentList>
      {opened?.har && (
        <RequestDetail
          key={opened.key}
          har={opened.har}
          at_ms={opened.at_ms}
          job_id={job_id}
          onClose={() => setFilters({ request: "" })}
        />
      )}
    </>
  );
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "");

/** The path; of another site its host too. */
function placeOf(url: string, site: string): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname, search } = new URL(url);
  return host === site ? pathname + search : host + pathname + search;
}

interface LineProps {
  har: HarEntry;
  row: MomentRow;
  site: string;
  at_ms: number;
  whole_ms: number;
}

/** Below it a line where it lies in the whole run. */
function RequestLine({ har, row, site, at_ms, whole_ms }: LineProps) {
  const share = (ms: number) => `${Math.min(100, (ms / Math.max(1, whole_ms)) * 100)}%`;
  return (
    <span className="player-request">
      <span className="method">{har.request.method}</span>
      <span className="path">{placeOf(har.request.url, site)}</span>
      <span className="status">{row.name}</span>
      <span className="took">{durationText(Math.max(0, har.time))}</span>
      <i
        className="player-request-span"
        aria-hidden
        style={{ left: share(at_ms), width: share(Math.max(0, har.time)) }}
      />
    </span>
  );
}

import { Chip, TextInput } from "@mantine/core";
import { type ReactNode, useMemo } from "react";
import { LOG_LEVELS } from "#shared/kit/log.ts";
import { useFilters } from "../../../lib/filters.ts";
import { countText } from "../../../lib/units.ts";
import { MomentList, type MomentRow } from "./moment-list.tsx";

interface SaidProps {
  label: string;
  rows: readonly MomentRow[];
  ms: number;
  onSeek: (ms: number) => void;
  empty: string;
  chip: ReactNode;
  /** What comes behind the number of lines. */
  note?: ReactNode;
}

/** Lines that the page or the run said, by level and text. */
export function Said({ label, rows, ms, onSeek, empty, chip, note }: SaidProps) {
  const [filters, setFilters] = useFilters({ levels: "debug,info,warn,error", q: "" });
  const levels = filters.levels.split(",");
  const wanted = filters.q.toLowerCase();
  const shown = useMemo(() => {
    const kept = new Set(filters.levels.split(","));
    return rows.filter(
      ({ level = "info", name, text }) =>
        kept.has(level) && `${name} ${text}`.toLowerCase().includes(wanted),
    );
  }, [rows, filters.levels, wanted]);
  return (
    <>
      <div className="player-chosen">
        {chip}
        <span>
          {countText(shown.length)} of {countText(rows.length)} lines
        </span>
        {note}
      </div>
      <div className="player-filter">
        <TextInput
          size="xs"
          data-filter
          aria-label="Lines that hold"
          placeholder="Lines that hold…"
          value={filters.q}
          onChange={(event) => setFilters({ q: event.currentTarget.value })}
        />
        <Chip.Group
          multiple
          value={levels}
          onChange={(next) =>
            setFilters({
              levels: LOG_LEVELS.filter((level) => next.includes(level)).join(",") || "none",
            })
          }
        >
          <div className="player-levels" role="group" aria-label="Levels">
            {LOG_LEVELS.map((level) => (
              <Chip key={level} value={level} size="xs">
                {level}
              </Chip>
            ))}
          </div>
        </Chip.Group>
      </div>
      <MomentList
        label={label}
        rows={shown}
        ms={ms}
        onOpen={({ at_ms }) => onSeek(at_ms)}
        empty={rows.length === 0 ? empty : "No line matches."}
      />
    </>
  );
}

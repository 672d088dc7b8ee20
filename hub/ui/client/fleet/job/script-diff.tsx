import { Text } from "@mantine/core";
import { diffLines } from "diff";
import { useMemo } from "react";
import type { Attempt } from "#shared/protocol/schema/attempt.ts";
import { useGet } from "../../lib/query.ts";
import { Loadable } from "../../parts/states.tsx";

/** What this script does differently from the one before. */
export function ScriptDiff({ job_id, attempt }: { job_id: string; attempt: Attempt }) {
  const query = useGet("/jobs/{id}/attempts/{n}", { params: { id: job_id, n: attempt.n - 1 } });
  return (
    <Loadable query={query}>
      {(before) => <Lines before={before.script ?? ""} after={attempt.script ?? ""} />}
    </Loadable>
  );
}

const MARKS = { added: "+", removed: "−", same: " " };
/** Of the comparison; two long scripts with nothing in common are shown one after the other. */
const MOST_MS = 500;

function Lines({ before, after }: { before: string; after: string }) {
  const lines = useMemo(() => {
    const parts = diffLines(before, after, { timeout: MOST_MS }) ?? [
      { value: before, removed: true, added: false },
      { value: after, removed: false, added: true },
    ];
    return parts.flatMap(({ value, added, removed }) => {
      const kind = added ? ("added" as const) : removed ? ("removed" as const) : ("same" as const);
      return value
        .replace(/\n$/, "")
        .split("\n")
        .map((text) => ({ kind, text }));
    });
  }, [before, after]);
  if (before === after)
    return (
      <Text size="sm" c="dimmed">
        The script is the same.
      </Text>
    );
  return (
    <div className="job-diff" role="region" aria-label="Changes of the script" tabIndex={0}>
      {lines.map(({ kind, text }, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
        <div key={i} data-kind={kind}>
          <span className="mark">{MARKS[kind]}</span>
          {text}
        </div>
      ))}
    </div>
  );
}

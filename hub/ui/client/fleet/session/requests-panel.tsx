import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { NetworkEntry, Session } from "#shared/protocol/schema/session.ts";
import { call } from "../../lib/http.ts";
import { bytesText } from "../../lib/units.ts";
import { Loadable } from "../../parts/states.tsx";

const MOST_SHOWN = 300;

const pathOf = (url: string): string => {
  if (!URL.canParse(url)) return url;
  const { host, pathname, search } = new URL(url);
  return `${host}${pathname}${search}`;
};

function Request({ entry: { method, url, status, size, error } }: { entry: NetworkEntry }) {
  const is_bad = error !== null || (status ?? 0) >= 400;
  return (
    <li data-bad={is_bad || undefined}>
      <span className="request-status">{error === null ? (status ?? "…") : "failed"}</span>
      <span className="request-url" title={`${method} ${url}${error === null ? "" : `\n${error}`}`}>
        {method === "GET" ? "" : `${method} `}
        {pathOf(url)}
      </span>
      <span className="request-size">{size === null ? "" : bytesText(size)}</span>
    </li>
  );
}

/** What the browser requested. Reading it counts as use of the session, so that it is done when asked for. */
export function RequestsPanel({ session: { session_id, url } }: { session: Session }) {
  const query = useQuery({
    queryKey: ["network", session_id, url],
    queryFn: ({ signal }) =>
      call("GET /sessions/{sid}/network", { params: { sid: session_id }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: false,
    placeholderData: (before) => before,
  });
  return (
    <section aria-label="Requests">
      <Button
        size="compact-xs"
        variant="default"
        mb={8}
        loading={query.isFetching}
        onClick={() => void query.refetch()}
      >
        Look again
      </Button>
      <Loadable query={query} lines={4}>
        {({ entries }) =>
          entries.length === 0 ? (
            <Text size="sm">The browser has requested nothing yet.</Text>
          ) : (
            <ul className="panel-rows">
              {entries
                .slice(-MOST_SHOWN)
                .reverse()
                .map((entry) => (
                  <Request key={entry.seq} entry={entry} />
                ))}
            </ul>
          )
        }
      </Loadable>
    </section>
  );
}

import { Badge, Button, Tooltip } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { offlineSince, subscribeConnection } from "../lib/connection.ts";
import { info } from "../lib/info.ts";
import { isLive, subscribeLive } from "../lib/live.ts";
import { useGet } from "../lib/query.ts";
import { clockText } from "../lib/units.ts";

const useOffline = () => useSyncExternalStore(subscribeConnection, offlineSince);

/** How the page learns what has changed, in a word. */
export function ConnectionBadge() {
  const live = useSyncExternalStore(subscribeLive, isLive);
  const offline = useOffline() !== null;
  const [word, color, label] = offline
    ? ["Offline", "orange", "The server cannot be reached"]
    : live
      ? ["Live", "teal", "Changes are shown as they happen"]
      : ["Connected", "yellow", "Updates every few seconds: the stream of changes is not open"];
  return (
    <Tooltip label={label}>
      <Badge variant="dot" color={color} className="status" role="status">
        {word}
      </Badge>
    </Tooltip>
  );
}

/** That the server is away, or has become another version than the page is of. */
export function ConnectionBar() {
  const since = useOffline();
  const { data } = useGet(info.fleet ? "/health" : "/api/v1/health");
  if (since !== null)
    return (
      <div className="connection-bar" role="status">
        Offline since {clockText(new Date(since))}. This shows what was last known, and tries again
        by itself.
      </div>
    );
  if (data === undefined || data.version === info.version) return null;
  return (
    <div className="connection-bar" role="status" data-updated>
      Flotilla was updated.
      <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
        Reload
      </Button>
    </div>
  );
}

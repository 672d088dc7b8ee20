import { Button } from "@mantine/core";
import { IconCloudOff, IconPlugConnected, IconRefresh } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { useHealth } from "../lib/health.ts";
import { info } from "../lib/info.ts";
import { isLive, subscribeLive } from "../lib/live.ts";
import { EVERY_MS } from "../lib/query.ts";
import { clockText } from "../lib/units.ts";
import { useOffline } from "../lib/use-offline.ts";

/** Whether the server has become another version than the page is of. */
const useUpdated = (): boolean => {
  const { data } = useHealth();
  return data !== undefined && data.version !== info.version;
};

/** How the page learns what has changed, in a word with its icon. */
export function ConnectionState() {
  const live = useSyncExternalStore(subscribeLive, isLive);
  const since = useOffline();
  const updated = useUpdated();
  const [text, state, Icon] =
    since !== null
      ? [`Offline since ${clockText(new Date(since))}`, "warn", IconCloudOff]
      : updated
        ? ["New version, reload", "live", IconRefresh]
        : live
          ? ["Connected", "idle", IconPlugConnected]
          : [`Connected, every ${EVERY_MS.alone / 1_000} s`, "idle", IconPlugConnected];
  return (
    <span className="connection" role="status" data-state={state} title={text}>
      <Icon size={15} aria-hidden />
      <span className="connection-word">{text}</span>
    </span>
  );
}

/** That the server is away, or has become another version than the page is of. */
export function ConnectionBar() {
  const since = useOffline();
  const updated = useUpdated();
  if (since !== null)
    return (
      <div className="connection-bar" role="status">
        Offline since {clockText(new Date(since))}. Showing what was last known; trying again.
      </div>
    );
  if (!updated) return null;
  return (
    <div className="connection-bar" role="status" data-updated>
      Flotilla was updated.
      <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
        Reload
      </Button>
    </div>
  );
}

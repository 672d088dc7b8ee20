import { Text } from "@mantine/core";
import { IconEye, IconHandFinger, IconPlugConnected } from "@tabler/icons-react";
import type { Session, SessionWatcher } from "#shared/protocol/schema/session.ts";
import { Ago } from "../../parts/text.tsx";

const UNNAMED: Record<SessionWatcher["kind"], string> = {
  viewer: "Somebody without a name",
  cdp: "A program over CDP",
  webdriver: "A program over WebDriver",
};
const nameOf = ({ name, kind }: SessionWatcher): string => name ?? UNNAMED[kind];

const iconOf = ({ kind, mode }: SessionWatcher) => {
  if (kind !== "viewer") return IconPlugConnected;
  return mode === "control" ? IconHandFinger : IconEye;
};

function saysOf({ kind, mode, drives }: SessionWatcher): string {
  if (drives) return "drives now";
  if (kind !== "viewer") return "is connected";
  return mode === "control" ? "may act" : "watches";
}

/** Who is at the session now, this page's own viewer among them. */
export function Watching({ watchers = [] }: Pick<Session, "watchers">) {
  if (watchers.length === 0) return <Text size="sm">Nobody is watching.</Text>;
  return (
    <ul className="watchers" aria-label="Who is watching">
      {watchers.map((watcher, i) => {
        const What = iconOf(watcher);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: two without a name are alike
          <li key={i} data-drives={watcher.drives || undefined}>
            <What size={16} stroke={1.75} aria-hidden />
            <span className="wrap">
              <b>{nameOf(watcher)}</b> {saysOf(watcher)}
            </span>
            <Text span size="xs" c="dimmed">
              since <Ago at={watcher.since} />
            </Text>
          </li>
        );
      })}
    </ul>
  );
}

/** Who drives, in words; null: nobody does. */
export function driverOf({ watchers = [] }: Pick<Session, "watchers">): string | null {
  const driver = watchers.find(({ drives }) => drives);
  return driver ? nameOf(driver) : null;
}

import { Group, Kbd, Modal, Stack, Text } from "@mantine/core";
import { type HotkeyItem, useDisclosure, useHotkeys, useWindowEvent } from "@mantine/hooks";
import { useRef } from "react";
import { useLocation } from "wouter";
import { PAGES } from "../pages.tsx";

/** After `g`, the key of a page must come within so many milliseconds. */
const SEQUENCE_MS = 1_500;

const GO = PAGES.flatMap(({ path, title, nav }) =>
  nav?.key ? [{ key: nav.key, path, title }] : [],
);

/** The list of keys is opened by `?` and from the menu. */
const OPEN = "flotilla-keys";
export const showKeys = () => void window.dispatchEvent(new Event(OPEN));

/** Keys of every page: `g` and a letter go somewhere, `/` is the filter, `?` shows them. */
export function Keys() {
  const [, navigate] = useLocation();
  const [opened, { open, close }] = useDisclosure(false);
  useWindowEvent(OPEN, open);
  const began = useRef(Number.NEGATIVE_INFINITY);
  // By when the keys were pressed: a busy page hears of them later.
  const isSequence = ({ timeStamp }: KeyboardEvent) => timeStamp - began.current < SEQUENCE_MS;
  useHotkeys([
    [
      "g",
      ({ timeStamp }) => {
        began.current = timeStamp;
      },
    ],
    ["?", open],
    ["shift + ?", open],
    ["/", () => document.querySelector<HTMLElement>("[data-filter]")?.focus()],
    ...GO.map(
      ({ key, path }): HotkeyItem => [
        key,
        (event) => {
          if (!isSequence(event)) return;
          began.current = Number.NEGATIVE_INFINITY;
          navigate(path);
        },
        { preventDefault: false },
      ],
    ),
  ]);
  return (
    <Modal opened={opened} onClose={close} title="Keys">
      <Stack gap="xs">
        {[
          { keys: ["Ctrl", "K"], what: "Find or do" },
          { keys: ["/"], what: "Filter of the page" },
          { keys: ["↑", "↓", "Enter"], what: "Go through a table and open a row" },
          { keys: ["?"], what: "This list" },
          ...GO.map(({ key, title }) => ({ keys: ["g", key], what: title })),
        ].map(({ keys, what }) => (
          <Group key={what} justify="space-between">
            <Text size="sm">{what}</Text>
            <Group gap={4}>
              {keys.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </Group>
          </Group>
        ))}
      </Stack>
    </Modal>
  );
}

import { ActionIcon, Button, Group, TextInput, Tooltip } from "@mantine/core";
import { IconArrowLeft, IconArrowRight, IconReload } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { addressOf } from "../../lib/address.ts";
import { useChange } from "../../lib/query.ts";
import { act } from "./act.ts";

const MOVES = [
  { move: "back", label: "Back", icon: IconArrowLeft },
  { move: "forward", label: "Forward", icon: IconArrowRight },
  { move: "reload", label: "Reload", icon: IconReload },
] as const;

/** Where the active tab is, and where it goes. */
export function AddressBar({ session }: { session: Session }) {
  /** What somebody is typing; otherwise the page's own address is shown. */
  const [typed, setTyped] = useState<string | null>(null);
  const go = useChange((url: string) => act(session, "navigate", { url }), {
    failed: "The page was not opened",
    onDone: () => setTyped(null),
  });
  const move = useChange((name: (typeof MOVES)[number]["move"]) => act(session, name, {}), {
    failed: "The page did not move",
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const address = (typed ?? session.url).trim();
    if (address !== "") go.mutate(addressOf(address));
  };
  return (
    <form onSubmit={submit}>
      <Group gap={6} wrap="nowrap">
        {MOVES.map(({ move: name, label, icon: Icon }) => (
          <Tooltip key={name} label={label}>
            <ActionIcon
              variant="default"
              size={30}
              aria-label={label}
              loading={move.isPending && move.variables === name}
              onClick={() => move.mutate(name)}
            >
              <Icon size={16} />
            </ActionIcon>
          </Tooltip>
        ))}
        <TextInput
          size="xs"
          flex={1}
          miw={0}
          aria-label="Address of the page"
          value={typed ?? session.url}
          spellCheck={false}
          onChange={(event) => setTyped(event.currentTarget.value)}
          onBlur={() => typed === session.url && setTyped(null)}
          onKeyDown={(event) => event.key === "Escape" && setTyped(null)}
        />
        <Button type="submit" size="xs" variant="default" loading={go.isPending}>
          Go
        </Button>
      </Group>
    </form>
  );
}

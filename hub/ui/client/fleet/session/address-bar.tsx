import { ActionIcon, Tooltip } from "@mantine/core";
import {
  IconArrowLeft,
  IconArrowRight,
  IconLock,
  IconReload,
  IconWorld,
} from "@tabler/icons-react";
import { type FormEvent, useRef, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { addressOf } from "../../lib/address.ts";
import { useChange } from "../../lib/query.ts";
import { act } from "./act.ts";

const MOVES = [
  { move: "back", label: "Back", icon: IconArrowLeft },
  { move: "forward", label: "Forward", icon: IconArrowRight },
  { move: "reload", label: "Reload", icon: IconReload },
] as const;

/** The address with what says whose page it is: its host, with the port. */
function Shown({ url }: { url: string }) {
  if (!URL.canParse(url) || new URL(url).host === "") return <span>{url}</span>;
  const { protocol, host, pathname, search, hash } = new URL(url);
  return (
    <>
      <span>{`${protocol}//`}</span>
      <b>{host}</b>
      <span>{`${pathname}${search}${hash}`}</span>
    </>
  );
}

/** Where the active tab is, and where it goes. */
export function AddressBar({ session }: { session: Session }) {
  /** What somebody is typing; otherwise the page's own address is shown. */
  const [typed, setTyped] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
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
    if (address === "") return;
    field.current?.blur();
    go.mutate(addressOf(address));
  };
  const Safe = session.url.startsWith("https:") ? IconLock : IconWorld;
  return (
    <form className="session-address" onSubmit={submit} aria-busy={go.isPending}>
      {MOVES.map(({ move: name, label, icon: Icon }) => (
        <Tooltip key={name} label={label}>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={label}
            loading={move.isPending && move.variables === name}
            onClick={() => move.mutate(name)}
          >
            <Icon size={18} stroke={1.75} />
          </ActionIcon>
        </Tooltip>
      ))}
      <span className="address-field" data-typed={typed !== null || undefined}>
        <Safe size={14} aria-hidden />
        <input
          ref={field}
          aria-label="Address of the page"
          value={typed ?? session.url}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setTyped(event.currentTarget.value)}
          onFocus={(event) => {
            setTyped(session.url);
            event.currentTarget.select();
          }}
          onBlur={() => !go.isPending && setTyped(null)}
          onKeyDown={(event) => event.key === "Escape" && event.currentTarget.blur()}
        />
        <span className="address-shown" aria-hidden>
          <Shown url={session.url} />
        </span>
      </span>
    </form>
  );
}

import { Button, Group, NumberInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { useChange } from "../../lib/query.ts";
import { act } from "./act.ts";

/** Counts as use; may change after how long without use the session ends (rules/sessions#idle-time). */
export function KeepAlive({ session }: { session: Session }) {
  const [idle_ttl_s, setIdleTtl] = useState<number | string>("");
  const keep = useChange(
    () =>
      act(session, "keepalive", idle_ttl_s === "" ? {} : { idle_ttl_s: Math.round(+idle_ttl_s) }),
    {
      done: "The session is kept alive",
      failed: "The session was not kept alive",
      onDone: () => setIdleTtl(""),
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    keep.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <NumberInput
          size="xs"
          flex={1}
          label="Ends when idle for, s"
          placeholder={session.idle_ttl_s === null ? "with its job" : `${session.idle_ttl_s}`}
          min={5}
          max={86_400}
          value={idle_ttl_s}
          onChange={setIdleTtl}
        />
        <Button type="submit" size="xs" variant="default" loading={keep.isPending}>
          Keep alive
        </Button>
      </Group>
    </form>
  );
}

import { Button, Group, NumberInput } from "@mantine/core";
import type { Session } from "#shared/protocol/schema/session.ts";
import { numberOf, numberProps } from "../../forms/number-props.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { act } from "./act.ts";
import { RULES } from "./new-session.ts";

/** Counts as use; may change after how long without use the session ends (rules/sessions#idle-time). */
export function KeepAlive({ session }: { session: Session }) {
  const { form, saving, props } = useApiForm({
    initial: { idle_ttl_s: "" as number | string },
    rules: { idle_ttl_s: RULES.idle_ttl_s },
    bodyOf: ({ idle_ttl_s }) => ({ idle_ttl_s: numberOf(idle_ttl_s) }),
    send: (body) => act(session, "keepalive", body),
    done: "The session is kept alive",
    failed: "The session was not kept alive",
    quiet: false,
    resets: true,
  });
  return (
    <form {...props}>
      <Group gap="xs" align="flex-end" wrap="nowrap">
        <NumberInput
          size="xs"
          flex={1}
          label="Ends when idle for, s"
          placeholder={session.idle_ttl_s === null ? "with its job" : `${session.idle_ttl_s}`}
          {...numberProps(RULES.idle_ttl_s)}
          {...form.getInputProps("idle_ttl_s")}
        />
        <Button type="submit" size="xs" variant="default" loading={saving.isPending}>
          Keep alive
        </Button>
      </Group>
    </form>
  );
}

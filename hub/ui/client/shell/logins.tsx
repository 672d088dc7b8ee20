import { Alert, Button, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { type LoginKind, loginStore } from "../lib/logins.ts";

const TEXTS: Record<LoginKind, { title: string; label: string; note: string; wrong: string }> = {
  token: {
    title: "This server asks for its token",
    label: "API token",
    note: "The value of SVC_API_TOKEN on the server. This browser keeps it in a cookie that pages cannot read.",
    wrong: "That is not the token.",
  },
  admin: {
    title: "Only the administrator may do this",
    label: "Administrator's password",
    note: "It was shown once at the first start; `flotilla admin reset-password` makes another. This page forgets it when it is closed.",
    wrong: "That is not the password.",
  },
};

/** Asks for what a call was refused without; the call goes on with it. */
export function Logins() {
  const asked = useSyncExternalStore(loginStore.subscribe, loginStore.get);
  const [secret, setSecret] = useState("");
  if (asked === null) return null;
  const texts = TEXTS[asked.kind];
  const answer = (value: string | null) => {
    setSecret("");
    asked.answer(value);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (secret !== "") answer(secret);
  };
  return (
    <Modal opened onClose={() => answer(null)} title={texts.title} centered zIndex={400}>
      <form onSubmit={submit}>
        <Stack>
          {asked.wrong && <Alert color="red">{texts.wrong}</Alert>}
          <PasswordInput
            label={texts.label}
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
            autoComplete="current-password"
            data-autofocus
          />
          <Text size="sm" c="dimmed">
            {texts.note}
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => answer(null)}>
              Not now
            </Button>
            <Button type="submit" disabled={secret === ""}>
              Log in
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

import { Alert, Anchor, Button, Group, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { type FormEvent, useState, useSyncExternalStore } from "react";
import { type LoginKind, loginStore } from "../lib/logins.ts";

const TEXTS: Record<LoginKind, { title: string; label: string; note: string; other: string }> = {
  token: {
    title: "This server asks for its token",
    label: "API token",
    note: "A token with a role, or the value of SVC_API_TOKEN on the server. This browser keeps a session instead, which ends when you log out.",
    other: "Use the administrator's password instead",
  },
  admin: {
    title: "Only the administrator may do this",
    label: "Administrator's password",
    note: "It was shown once at the first start; `flotilla admin reset-password` sets a new one. This browser keeps a session instead, which ends when you leave.",
    other: "Use a token with the role admin instead",
  },
};
const WRONG: Record<string, string> = {
  "a bearer token is required": "That is not the token.",
  "the administrator password is wrong": "That is not the password.",
};

/** Asks for what a call was refused without; the call goes on with it. */
export function Logins() {
  const asked = useSyncExternalStore(loginStore.subscribe, loginStore.get);
  const [secret, setSecret] = useState("");
  const [chosen, setChosen] = useState<LoginKind | null>(null);
  if (asked === null) return null;
  const kind = chosen ?? asked.kind;
  const texts = { ...TEXTS[kind], title: TEXTS[asked.kind].title };
  const answer = (given: string | null) => {
    setSecret("");
    if (given === null) setChosen(null);
    asked.answer(given === null ? null : { kind, secret: given });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (secret !== "") answer(secret);
  };
  return (
    <Modal opened onClose={() => answer(null)} title={texts.title} centered zIndex={400}>
      <form onSubmit={submit}>
        <Stack>
          {asked.wrong !== null && (
            <Alert color="red">{WRONG[asked.wrong] ?? `It was refused: ${asked.wrong}`}</Alert>
          )}
          <PasswordInput
            key={kind}
            label={texts.label}
            value={secret}
            onChange={(event) => setSecret(event.currentTarget.value)}
            autoComplete="current-password"
            data-autofocus
          />
          <Text size="sm" c="dimmed">
            {texts.note}
          </Text>
          <Anchor
            component="button"
            type="button"
            size="sm"
            ta="start"
            onClick={() => setChosen(kind === "token" ? "admin" : "token")}
          >
            {texts.other}
          </Anchor>
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

import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { Host } from "#shared/protocol/schema/host.ts";
import { call, seg } from "../../lib/http.ts";
import { errorText, useChange } from "../../lib/query.ts";

interface NewHostProps {
  opened: boolean;
  onClose: () => void;
  hrefOf: (host: string) => string;
}

/** The host of what somebody pasted: a full address works as well as a name. */
const nameIn = (typed: string): string => {
  const text = typed.trim();
  return /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text).hostname : text;
};

/** As the API names it. */
const canonical = (name: string): string =>
  URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : name;

/** Creates a host, or opens it if it exists: its settings are never replaced from here. */
async function makeHost(name: string): Promise<string> {
  const { hosts } = await call<{ hosts: Host[] }>("GET", "/hosts");
  const there = hosts.find(({ host }) => host === canonical(name));
  return (there ?? (await call<Host>("PUT", `/hosts/${seg(name)}`, { json: {} }))).host;
}

export function NewHost({ opened, onClose, hrefOf }: NewHostProps) {
  const [typed, setTyped] = useState("");
  const [, navigate] = useLocation();
  const make = useChange(makeHost, {
    failed: "The host was not created",
    quiet: true,
    onDone: (host) => {
      setTyped("");
      onClose();
      navigate(hrefOf(host));
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate(nameIn(typed));
  };
  return (
    <Modal opened={opened} onClose={onClose} title="New host" centered>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            data-autofocus
            label="Host"
            description="A name without scheme, port or path; a full address is shortened to it. Subdomains are separate hosts."
            placeholder="example.org"
            required
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            error={make.error ? errorText(make.error) : null}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={make.isPending} disabled={typed.trim() === ""}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

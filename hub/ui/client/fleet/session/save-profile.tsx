import { Alert, Autocomplete, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type FormEvent, useState } from "react";
import type { Profile } from "#shared/protocol/schema/profile.ts";
import type { Session } from "#shared/protocol/schema/session.ts";
import { call, seg } from "../../lib/http.ts";
import { errorText, useChange, useGet } from "../../lib/query.ts";

/** A large profile is packed, sent and unpacked again. */
const SAVE_MS = 610_000;

export function SaveProfile({ session }: { session: Session }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        Save profile
      </Button>
      <Modal opened={opened} onClose={close} title="Save the browser's profile">
        {opened && <Form session={session} onClose={close} />}
      </Modal>
    </>
  );
}

function Form({ session, onClose }: { session: Session; onClose: () => void }) {
  const [name, setName] = useState("");
  const profiles = useGet<{ profiles: Profile[] }>("/profiles");
  const names = profiles.data?.profiles.map((profile) => profile.name) ?? [];
  const replaces = names.includes(name);
  const save = useChange(
    () =>
      call<Profile>("POST", `/sessions/${seg(session.session_id)}/profile/save`, {
        json: { name },
        timeout_ms: SAVE_MS,
      }),
    {
      done: `Saved as profile ${name}`,
      failed: "The profile was not saved",
      quiet: true,
      onDone: onClose,
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm">
          Logins, cookies, settings and extensions are stored for jobs and sessions that name this
          profile. The browser is closed for a moment and comes back with the same tabs.
        </Text>
        <Autocomplete
          label="Name"
          description="a-z, 0-9, hyphen and underscore"
          data-autofocus
          required
          value={name}
          onChange={setName}
          data={names}
        />
        {replaces && (
          <Alert color="yellow" role="status">
            The profile {name} is replaced by this one.
          </Alert>
        )}
        {save.error && (
          <Alert color="red" role="alert" title="The profile was not saved" className="wrap">
            {errorText(save.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={name === ""} loading={save.isPending}>
            {replaces ? "Replace" : "Save"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

import { Alert, Autocomplete, Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Session } from "#shared/protocol/schema/session.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { useGet } from "../../lib/query.ts";
import { FormErrors } from "../../parts/form-errors.tsx";

/** A large profile is packed, sent and unpacked again. */
const SAVE_MS = 610_000;

const RULES = rulesOf("SaveProfile");

export function SaveProfile({ session }: { session: Session }) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={open}>
        Save profile
      </Button>
      <Modal opened={opened} onClose={close} title="Save the browser's profile">
        {opened && <Form session={session} onClose={close} />}
      </Modal>
    </>
  );
}

function Form({ session, onClose }: { session: Session; onClose: () => void }) {
  const profiles = useGet("/profiles");
  const names = profiles.data?.profiles.map((profile) => profile.name) ?? [];
  const { form, saving, props } = useApiForm({
    initial: { name: "" },
    rules: RULES,
    bodyOf: (values) => values,
    send: (json) =>
      call("POST /sessions/{sid}/profile/save", {
        params: { sid: session.session_id },
        json,
        timeout_ms: SAVE_MS,
      }),
    done: ({ name: saved }) => `Saved as profile ${saved}`,
    failed: "The profile was not saved",
    onDone: onClose,
  });
  const { name } = form.values;
  const replaces = names.includes(name);
  return (
    <form {...props}>
      <Stack gap="sm">
        <Text size="sm">
          Logins, cookies and settings are stored for jobs and sessions that name this profile. The
          browser is closed for a moment and comes back with the same tabs.
        </Text>
        <Autocomplete
          label="Name"
          description="a-z, 0-9, hyphen and underscore"
          data-autofocus
          required
          data={names}
          {...form.getInputProps("name")}
        />
        {replaces && (
          <Alert color="yellow" role="status">
            The profile {name} is replaced by this one.
          </Alert>
        )}
        <FormErrors error={saving.error} title="The profile was not saved" fields={["name"]} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={name === ""} loading={saving.isPending}>
            {replaces ? "Replace" : "Save"}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

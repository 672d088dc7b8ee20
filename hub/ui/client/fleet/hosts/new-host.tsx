import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useLocation } from "wouter";
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { FieldHelp } from "../../parts/field-help.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";

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
  const { hosts } = await call("GET /hosts");
  const there = hosts.find(({ host }) => host === canonical(name));
  return (there ?? (await call("PUT /hosts/{host}", { params: { host: name }, json: {} }))).host;
}

export function NewHost({ opened, onClose, hrefOf }: NewHostProps) {
  const [, navigate] = useLocation();
  const { form, saving, props } = useApiForm({
    initial: { host: "" },
    // The API names a host in the path.
    rules: {},
    bodyOf: ({ host }) => ({ host: nameIn(host) }),
    send: ({ host }) => makeHost(host),
    failed: "The host was not created",
    resets: true,
    onDone: (host) => {
      onClose();
      navigate(hrefOf(host));
    },
  });
  return (
    <Modal opened={opened} onClose={onClose} title="New host" centered>
      <form {...props}>
        <Stack>
          <TextInput
            data-autofocus
            label="Host"
            description={
              <FieldHelp of="PutHost" field="host">
                A name without scheme, port or path; a full address is shortened to it. Subdomains
                are separate hosts.
              </FieldHelp>
            }
            placeholder="example.org"
            required
            {...form.getInputProps("host")}
          />
          <FormErrors error={saving.error} title="The host was not created" fields={["host"]} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              type="submit"
              loading={saving.isPending}
              disabled={form.values.host.trim() === ""}
            >
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

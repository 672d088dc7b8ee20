import { Button, Group, Radio, Stack, Textarea } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { PopupPolicy } from "#shared/protocol/schema/recipe.ts";
import { ApiError } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";
import { changeHost } from "./change-host.ts";
import { messageAt } from "./draft.ts";

const POPUPS: { value: PopupPolicy; label: string; description: string }[] = [
  { value: "allow", label: "Allow", description: "They open in their own tabs" },
  { value: "block", label: "Block", description: "They are closed at once" },
  {
    value: "same_tab",
    label: "Same tab",
    description: "What they would show opens in the same tab",
  },
];

/** Popup policy and notes. */
export function SettingsTab({ host }: { host: Host }) {
  const [popup_policy, setPolicy] = useState(host.popup_policy);
  const [notes, setNotes] = useState(host.notes);
  const save = useChange(() => changeHost(host.host, () => ({ popup_policy, notes })), {
    done: "The settings were saved",
    failed: "The settings were not saved",
    quiet: true,
  });
  const issues = save.error instanceof ApiError ? save.error.issues : [];
  const changed = popup_policy !== host.popup_policy || notes !== host.notes;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={720}>
        <Radio.Group
          label="Popups"
          description="What happens to windows that this host's pages open"
          value={popup_policy}
          onChange={(value) => setPolicy(value as PopupPolicy)}
        >
          <Stack gap="xs" mt="xs">
            {POPUPS.map((one) => (
              <Radio key={one.value} {...one} />
            ))}
          </Stack>
        </Radio.Group>
        <Textarea
          label="Notes"
          description="For people: who owns the login, what to look out for. No secrets: everybody with access can read them."
          autosize
          minRows={4}
          maxRows={20}
          value={notes}
          onChange={(event) => setNotes(event.currentTarget.value)}
          error={messageAt(issues, "body", "notes")}
        />
        {save.error && <ErrorNote error={save.error} title="The settings were not saved" />}
        <Group>
          <Button type="submit" loading={save.isPending} disabled={!changed}>
            Save settings
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

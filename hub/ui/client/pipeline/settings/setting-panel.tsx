import { Button, Group, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Setting } from "#shared/protocol/schema/operations.ts";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { SettingEditor } from "./editor.tsx";

/** Changes one setting, which only the administrator may. */
export function SettingPanel({ setting, onDone }: { setting: Setting; onDone: () => void }) {
  const { key } = setting;
  const at = `/api/v1/settings/${seg(key)}`;
  const [value, setValue] = useState(setting.value);
  const save = useChange(() => call("PUT", at, { json: { value } }), {
    done: `${key} stored; it takes effect now`,
    failed: `${key} was not stored`,
    onDone,
    quiet: true,
  });
  const change = (next: unknown) => {
    // What was said of the third entry is not said of whatever is third now.
    if (Array.isArray(next) && next.length < (value as unknown[]).length) save.reset();
    setValue(next);
  };
  const unset = useChange(() => call("DELETE", at), {
    done: `${key} has its default value again`,
    failed: `${key} was not reset`,
    onDone,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {setting.description}
        </Text>
        <SettingEditor setting={setting} value={value} error={save.error} onChange={change} />
        <FormErrors
          error={save.error}
          title={`${key} was not stored`}
          fields={key === "llm_engines" ? [] : ["value"]}
        />
        <Group justify="space-between">
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
          {setting.source === "stored" && (
            <ConfirmButton
              question={`Go back to the default of ${key}?`}
              text="The stored value is forgotten."
              confirm="Go back to it"
              loading={unset.isPending}
              onConfirm={() => unset.mutate(undefined)}
            >
              Reset
            </ConfirmButton>
          )}
        </Group>
      </Stack>
    </form>
  );
}

import { Button, Group, Stack, Text } from "@mantine/core";
import type { Setting } from "#shared/protocol/schema/operations.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { SettingEditor } from "./editor.tsx";

/** Changes one setting, which only the administrator may. */
export function SettingPanel({ setting, onDone }: { setting: Setting; onDone: () => void }) {
  const { key } = setting;
  const { form, saving, props } = useApiForm({
    initial: { value: setting.value },
    // A setting is judged by the server, which has its schema.
    rules: {},
    bodyOf: (values) => values,
    send: (json) => call("PUT /api/v1/settings/{key}", { params: { key }, json }),
    done: `${key} stored; it takes effect now`,
    failed: `${key} was not stored`,
    onDone,
  });
  const unset = useChange(() => call("DELETE /api/v1/settings/{key}", { params: { key } }), {
    done: `${key} has its default value again`,
    failed: `${key} was not reset`,
    onDone,
  });
  return (
    <form {...props}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {setting.description}
        </Text>
        <SettingEditor
          setting={setting}
          form={form}
          // An error of the third entry is not an error of whatever is third now.
          onRemove={saving.reset}
        />
        <FormErrors
          error={saving.error}
          title={`${key} was not stored`}
          fields={key === "llm_engines" ? [] : ["value"]}
        />
        <Group justify="space-between">
          <Button type="submit" loading={saving.isPending}>
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

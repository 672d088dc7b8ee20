import { Button, Group, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { Setting } from "#shared/protocol/schema/operations.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { getKey } from "../../lib/query-key.ts";
import { ConfirmButton } from "../../parts/confirm.tsx";
import { FieldHelp } from "../../parts/field-help.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { SettingEditor } from "./editor.tsx";

/** Changes one setting, which only the administrator may. */
export function SettingPanel({ setting, onDone }: { setting: Setting; onDone: () => void }) {
  const { key } = setting;
  const client = useQueryClient();
  /** Once the list has it: a panel that opens before would show, and store again, what was there until now. */
  const finish = async () => {
    await client.invalidateQueries({ queryKey: getKey("/api/v1/settings") });
    onDone();
  };
  const { form, saving, props } = useApiForm({
    initial: { value: setting.value },
    // A setting is judged by the server, which has its schema.
    rules: {},
    bodyOf: (values) => values,
    send: (json) => call("PUT /api/v1/settings/{key}", { params: { key }, json }),
    done: `${key} stored; it takes effect now`,
    failed: `${key} was not stored`,
    onDone: finish,
  });
  const unset = useChange(() => call("DELETE /api/v1/settings/{key}", { params: { key } }), {
    done: `${key} has its default value again`,
    failed: `${key} was not reset`,
    onDone: finish,
  });
  return (
    <form {...props}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          <FieldHelp of="PipelineSettings" field={key}>
            {setting.description}
          </FieldHelp>
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

import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { FlotillaError } from "#shared/client/errors.ts";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { asWritten, call } from "../../lib/http.ts";
import { draftOf, readDraft } from "./form/draft.ts";
import { RULES } from "./form/fields.ts";
import { WorkloadForm } from "./form/workload-form.tsx";

/** Every setting of a workload. It shows the values from when it was opened until they are saved or reset. */
export function Config({ workload }: { workload: Workload }) {
  const [start, setStart] = useState(workload);
  const { form, saving, props } = useApiForm({
    initial: draftOf(workload),
    rules: RULES,
    bodyOf: (draft) => readDraft(draft).body,
    check: (draft) => readDraft(draft).faults,
    send: (json) =>
      call("PUT /api/v1/workloads/{slug}", {
        params: { slug: workload.slug },
        json: asWritten(json),
        headers: { "if-match": workloadTag(start) },
      }),
    done: "The settings were saved",
    failed: "The settings were not saved",
    onDone: (saved): void => begin(saved),
  });
  const begin = (from: Workload) => {
    setStart(from);
    form.setInitialValues(draftOf(from));
    form.reset();
  };
  const changed = JSON.stringify(form.values) !== JSON.stringify(draftOf(start));
  const elsewhere = workload.updated_at > start.updated_at;
  // The notice shows the error and what to do; the current settings are read again after every error.
  const refused = saving.error instanceof FlotillaError && saving.error.status === 412;
  useEffect(() => {
    // It loses nothing that was typed.
    if (elsewhere && !changed) begin(workload);
  });
  const wrong = Object.keys(form.errors).length;
  return (
    <form {...props}>
      <Stack maw={900}>
        {elsewhere && changed && (
          <Alert color="yellow" title="It has been changed elsewhere in the meantime" role="status">
            <Group>
              <Text size="sm">Your changes do not overwrite that unless you say so.</Text>
              <Button size="xs" variant="default" onClick={() => begin(workload)}>
                Show the current settings
              </Button>
              <Button size="xs" variant="default" onClick={() => setStart(workload)}>
                Keep my settings
              </Button>
            </Group>
          </Alert>
        )}
        <WorkloadForm form={form} error={refused && elsewhere ? null : saving.error} />
        <Group className="save-bar">
          <Button type="submit" loading={saving.isPending} disabled={!changed}>
            Save
          </Button>
          <Button variant="default" disabled={!changed} onClick={() => begin(workload)}>
            Undo changes
          </Button>
          <Text size="sm" c={wrong > 0 ? "var(--mantine-color-error)" : "dimmed"} role="status">
            {wrong > 0
              ? `${wrong} fields need correcting`
              : changed
                ? "Running tasks keep the settings they were claimed with."
                : "Nothing has changed."}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}

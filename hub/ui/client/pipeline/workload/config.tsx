import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { ApiError, call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { bodyOf, draftOf } from "./form/draft.ts";
import { WorkloadForm } from "./form/workload-form.tsx";

/** Every setting of a workload. It shows the values from when it was opened until they are saved or reset. */
export function Config({ workload }: { workload: Workload }) {
  const [start, setStart] = useState(workload);
  const [draft, setDraft] = useState(() => draftOf(workload));
  const [tried, setTried] = useState(false);
  const { body, errors } = bodyOf(draft);
  const begin = (from: Workload) => {
    setStart(from);
    setDraft(draftOf(from));
    setTried(false);
  };
  const save = useChange(
    () =>
      call<Workload>("PUT", `/api/v1/workloads/${seg(workload.slug)}`, {
        json: body,
        headers: { "if-match": workloadTag(start) },
      }),
    {
      done: "The settings were saved",
      failed: "The settings were not saved",
      quiet: true,
      onDone: begin,
    },
  );
  const changed = JSON.stringify(draft) !== JSON.stringify(draftOf(start));
  const elsewhere = workload.updated_at > start.updated_at;
  // The notice says so, with what to do; the current settings are read again after every error.
  const refused = save.error instanceof ApiError && save.error.status === 412;
  // It loses nothing that was typed.
  if (elsewhere && !changed) begin(workload);
  const wrong = Object.keys(errors).length;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (wrong === 0) save.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
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
        <WorkloadForm
          draft={draft}
          onChange={setDraft}
          errors={tried ? errors : {}}
          error={refused && elsewhere ? null : save.error}
        />
        <Group className="save-bar">
          <Button type="submit" loading={save.isPending} disabled={!changed}>
            Save
          </Button>
          <Button variant="default" disabled={!changed} onClick={() => begin(workload)}>
            Undo changes
          </Button>
          <Text
            size="sm"
            c={tried && wrong > 0 ? "var(--mantine-color-error)" : "dimmed"}
            role="status"
          >
            {tried && wrong > 0
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

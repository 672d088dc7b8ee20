import { Button, Group, Paper, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { type FormEvent, useState } from "react";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { Command } from "../../parts/copy.tsx";
import { ErrorNote } from "../../parts/states.tsx";
import { OptionsForm } from "../options/options-form.tsx";
import { givenOf, issuesOf } from "../options/values.ts";
import { curlOf, type Draft } from "./body.ts";
import { PresetSelect } from "./preset-select.tsx";
import { useSubmit } from "./send.ts";

/** Everything that POST /jobs takes (rules/job-options#the-options). */
export function SubmitForm({ start, presets }: { start: Draft; presets: readonly Preset[] }) {
  const [draft, setDraft] = useState(start);
  const submit = useSubmit();
  const issues = issuesOf(submit.error, ["url", "preset"]);
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }));
  const preset = presets.find(({ slug }) => slug === draft.preset);
  const send = () => submit.mutate(draft);
  return (
    <form
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !submit.isPending) send();
      }}
    >
      <div className="submit-layout">
        <Stack>
          <TextInput
            label="Address"
            description="The page to open: an http or https URL."
            placeholder="https://example.com/"
            type="url"
            inputMode="url"
            autoComplete="off"
            required
            value={draft.url}
            error={issues.fields.get("url")}
            onChange={(event) => change({ url: event.currentTarget.value })}
          />
          <PresetSelect
            presets={presets}
            value={draft.preset}
            error={issues.fields.get("preset")}
            onChange={(slug) => change({ preset: slug })}
          />
          <OptionsForm
            given={draft.given}
            preset={preset && givenOf(preset.options)}
            issues={issues}
            onChange={(given) => change({ given })}
          />
        </Stack>
        <div className="submit-side">
          <Paper withBorder p="sm" className="submit-actions">
            <Stack gap="sm">
              <Group>
                <Button
                  type="submit"
                  leftSection={<IconSend size={16} />}
                  loading={submit.isPending}
                >
                  Submit the job
                </Button>
                {Object.keys(draft.given).length > 0 && (
                  <Button variant="default" onClick={() => change({ given: {} })}>
                    Reset the options
                  </Button>
                )}
              </Group>
              <Text size="xs" c="dimmed" visibleFrom={submit.isPending ? undefined : "lg"}>
                {submit.isPending
                  ? "Looking for a free lane: this takes up to 8 s."
                  : "Ctrl+Enter also submits. Without a free lane the job waits in the queue."}
              </Text>
              {issues.fields.size > 0 && (
                <Text size="sm" c="red" role="alert">
                  Not submitted: see {[...issues.fields.keys()].join(", ")}.
                </Text>
              )}
              {issues.rest && <ErrorNote title="The job was not submitted" error={submit.error} />}
            </Stack>
          </Paper>
          <Stack gap="xs">
            <Title order={2} size="h5">
              As a command
            </Title>
            <Command text={curlOf(draft, location.origin)} />
          </Stack>
        </div>
      </div>
    </form>
  );
}

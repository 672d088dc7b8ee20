import { Button, Group, Paper, Stack, Text, TextInput, Title } from "@mantine/core";
import { IconSend } from "@tabler/icons-react";
import { useLocation } from "wouter";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { targetFault } from "#shared/protocol/target-url.ts";
import type { Faults } from "../../forms/faults.ts";
import { readLabels } from "../../forms/labels.ts";
import { useApiForm } from "../../forms/use-api-form.ts";
import { addressOf } from "../../lib/address.ts";
import { jobHref } from "../../lib/links.ts";
import { Command } from "../../parts/copy.tsx";
import { FieldHelp } from "../../parts/field-help.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { OPTION_RULES, type Options } from "../options/fields.ts";
import { OptionsForm } from "../options/options-form.tsx";
import { givenOf, issuesIn, outdatedErrors } from "../options/values.ts";
import { bodyOf, curlOf, type Draft } from "./body.ts";
import { LabelsInput } from "./labels-input.tsx";
import { PresetSelect } from "./preset-select.tsx";
import { useSend } from "./send.ts";

/** What the rules of the options do not say. */
function faultsOf({ url, labels }: Draft): Faults {
  const faults: Faults = {};
  const address = targetFault(addressOf(url));
  if (address !== undefined) faults.url = address;
  const { fault } = readLabels(labels);
  if (fault !== undefined) faults.labels = fault;
  return faults;
}

/** Everything that POST /jobs takes (rules/job-options#the-options). */
export function SubmitForm({ start, presets }: { start: Draft; presets: readonly Preset[] }) {
  const [, navigate] = useLocation();
  const send = useSend();
  const { form, saving, props } = useApiForm({
    initial: start,
    rules: OPTION_RULES,
    bodyOf,
    check: faultsOf,
    send,
    failed: "The job was not submitted",
    onDone: (job_id) => navigate(jobHref(job_id)),
  });
  const draft = form.values;
  const issues = issuesIn(form.errors);
  const preset = presets.find(({ slug }) => slug === draft.preset);
  const change = (given: Options) => {
    outdatedErrors(form.errors, draft.given, given).forEach(form.clearFieldError);
    form.setFieldValue("given", given);
  };
  return (
    <form
      {...props}
      onKeyDown={(event) => {
        const wanted = event.key === "Enter" && (event.ctrlKey || event.metaKey);
        if (wanted && !saving.isPending) event.currentTarget.requestSubmit();
      }}
    >
      <div className="submit-layout">
        <Stack>
          <TextInput
            label="Address"
            description={
              <FieldHelp of="SubmitJob" field="url">
                The page to open: an http or https URL.
              </FieldHelp>
            }
            placeholder="https://example.com/"
            type="url"
            inputMode="url"
            autoComplete="off"
            required
            {...form.getInputProps("url")}
            onBlur={() => form.setFieldValue("url", addressOf(draft.url))}
          />
          <PresetSelect
            presets={presets}
            value={draft.preset}
            error={issues.get("preset")}
            onChange={(slug) => form.setFieldValue("preset", slug)}
          />
          <LabelsInput
            value={draft.labels}
            error={issues.get("labels")}
            onChange={(labels) => {
              form.setFieldValue("labels", labels);
              form.clearFieldError("labels");
            }}
          />
          <OptionsForm
            given={draft.given}
            preset={preset && givenOf(preset.options)}
            issues={issues}
            onChange={change}
          />
        </Stack>
        <div className="submit-side">
          <Paper withBorder p="sm" className="submit-actions">
            <Stack gap="sm">
              <Group>
                <Button
                  type="submit"
                  leftSection={<IconSend size={16} />}
                  loading={saving.isPending}
                >
                  Submit the job
                </Button>
                {Object.keys(draft.given).length > 0 && (
                  <Button variant="default" onClick={() => change({})}>
                    Reset the options
                  </Button>
                )}
              </Group>
              <Text size="xs" c="dimmed" visibleFrom={saving.isPending ? undefined : "lg"}>
                {saving.isPending
                  ? "Looking for a free lane: this takes a few seconds."
                  : "Ctrl+Enter also submits. Without a free lane the job waits in the queue."}
              </Text>
              {issues.size > 0 && (
                <Text size="sm" c="red" role="alert">
                  Not submitted: see {[...issues.keys()].join(", ")}.
                </Text>
              )}
              <FormErrors
                error={saving.error}
                title="The job was not submitted"
                fields={["url", "preset", "options", "labels"]}
              />
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

import {
  Button,
  Checkbox,
  Group,
  NumberInput,
  SegmentedControl,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import type { Watch } from "#shared/protocol/schema/watch.ts";
import { targetFault } from "#shared/protocol/target-url.ts";
import type { Faults } from "../../forms/faults.ts";
import { numberProps } from "../../forms/number-props.ts";
import { choicesOf, rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { addressOf } from "../../lib/address.ts";
import { asWritten, call } from "../../lib/http.ts";
import { linesOf } from "../../lib/lines.ts";
import { FormErrors } from "../../parts/form-errors.tsx";
import { OPTION_RULES, type Options } from "../options/fields.ts";
import { OptionsForm } from "../options/options-form.tsx";
import { givenOf, issuesIn, optionsBody, outdatedErrors } from "../options/values.ts";

const WATCH_RULES = rulesOf("PutWatch");
const RULES = { ...WATCH_RULES, ...OPTION_RULES };
const PARTS = choicesOf("ChangePart");
const FIELDS = Object.keys(WATCH_RULES);

/** What a person filled in; texts of several patterns have one in each line. */
const draftOf = (watch: Watch | undefined) => ({
  url: watch?.url ?? "",
  name: watch?.name ?? "",
  given: givenOf(watch?.options ?? {}),
  kind: watch && watch.every_s !== null ? "interval" : "cron",
  cron: watch?.cron ?? "0 7 * * *",
  cron_tz: watch?.cron_tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
  every_s: watch?.every_s ?? 3_600,
  paused: watch?.paused ?? false,
  compare: (watch?.compare ?? WATCH_RULES.compare.default) as string[],
  ignore_text: watch?.ignore_text.join("\n") ?? "",
  ignore_assets: watch?.ignore_assets.join("\n") ?? "",
  keep: watch?.keep ?? Number(WATCH_RULES.keep.default),
  webhook_url: watch?.webhook_url ?? "",
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = ({ kind, given, ignore_text, ignore_assets, webhook_url, ...draft }: Draft) => ({
  ...draft,
  url: addressOf(draft.url),
  cron: kind === "cron" ? draft.cron.trim() : null,
  every_s: kind === "interval" ? draft.every_s : null,
  options: optionsBody(given),
  ignore_text: linesOf(ignore_text),
  ignore_assets: linesOf(ignore_assets),
  webhook_url: webhook_url.trim() || null,
});

/** A form keeps the receiver as it is unless it was changed, because only administrators may set it. */
const sender =
  (watch: Watch | undefined) =>
  ({ webhook_url, ...rest }: ReturnType<typeof bodyOf>): Promise<Watch> => {
    const hook = webhook_url === (watch?.webhook_url ?? null) ? {} : { webhook_url };
    const json = asWritten({ ...rest, ...hook });
    return watch
      ? call("PATCH /watches/{watch_id}", { params: { watch_id: watch.watch_id }, json })
      : call("POST /watches", { json });
  };

interface WatchFormProps {
  /** Undefined creates a new one. */
  watch?: Watch;
  /** With the id of the watch once it is saved, with null without that. */
  onDone: (watch_id: string | null) => void;
}

/** What people decide about a watch (rules/watches#watch-record). */
export function WatchForm({ watch, onDone }: WatchFormProps) {
  const { form, saving, props } = useApiForm({
    initial: draftOf(watch),
    rules: RULES,
    bodyOf,
    check: ({ url }): Faults => {
      const fault = targetFault(addressOf(url));
      return fault === undefined ? {} : { url: fault };
    },
    send: sender(watch),
    done: "The watch is saved",
    failed: "The watch was not saved",
    onDone: ({ watch_id }) => onDone(watch_id),
  });
  const { given, kind } = form.values;
  const issues = issuesIn(form.errors);
  const change = (next: Options) => {
    outdatedErrors(form.errors, given, next).forEach(form.clearFieldError);
    form.setFieldValue("given", next);
  };
  const about = (name: keyof typeof WATCH_RULES) => WATCH_RULES[name]?.description;
  return (
    <form {...props}>
      <Stack maw={860}>
        <TextInput
          label="Address"
          description={about("url")}
          type="url"
          required
          {...form.getInputProps("url")}
        />
        <TextInput label="Name" description={about("name")} {...form.getInputProps("name")} />
        <SegmentedControl
          aria-label="Kind of schedule"
          w="fit-content"
          data={[
            { value: "cron", label: "At times" },
            { value: "interval", label: "At an interval" },
          ]}
          {...form.getInputProps("kind")}
        />
        {kind === "cron" ? (
          <Group align="flex-start" grow>
            <TextInput label="Times" description={about("cron")} {...form.getInputProps("cron")} />
            <TextInput
              label="Time zone"
              description={about("cron_tz")}
              {...form.getInputProps("cron_tz")}
            />
          </Group>
        ) : (
          <NumberInput
            label="Seconds between captures"
            description={about("every_s")}
            {...numberProps(WATCH_RULES.every_s)}
            {...form.getInputProps("every_s")}
          />
        )}
        <Checkbox.Group label="What counts as a change" {...form.getInputProps("compare")}>
          <Group mt={4}>
            {PARTS.map((part) => (
              <Checkbox key={part} value={part} label={part} />
            ))}
          </Group>
        </Checkbox.Group>
        <Textarea
          label="Lines that do not count"
          description="One pattern in each line. A star stands for any characters."
          autosize
          minRows={2}
          {...form.getInputProps("ignore_text")}
        />
        <Textarea
          label="URLs of assets that do not count"
          description="One pattern in each line. A star stands for any characters."
          autosize
          minRows={2}
          {...form.getInputProps("ignore_assets")}
        />
        <NumberInput
          label="Captures to keep"
          description={about("keep")}
          {...numberProps(WATCH_RULES.keep)}
          {...form.getInputProps("keep")}
        />
        <TextInput
          label="Webhook"
          description={about("webhook_url")}
          {...form.getInputProps("webhook_url")}
        />
        <Switch
          label="Paused"
          description={about("paused")}
          {...form.getInputProps("paused", { type: "checkbox" })}
        />
        <OptionsForm given={given} issues={issues} onChange={change} />
        {issues.size > 0 && (
          <Text size="sm" c="red" role="alert">
            Not saved: see {[...issues.keys()].join(", ")}.
          </Text>
        )}
        <FormErrors error={saving.error} title="The watch was not saved" fields={FIELDS} />
        <Group>
          <Button type="submit" loading={saving.isPending}>
            Save the watch
          </Button>
          <Button variant="default" onClick={() => onDone(null)} disabled={saving.isPending}>
            Back without saving
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

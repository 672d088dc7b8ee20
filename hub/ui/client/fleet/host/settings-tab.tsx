import { Button, Group, Radio, Stack, Textarea } from "@mantine/core";
import type { Host, PutHost } from "#shared/protocol/schema/host.ts";
import type { PopupPolicy } from "#shared/protocol/schema/recipe.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { faultAt, useApiForm } from "../../forms/use-api-form.ts";
import { FieldHelp } from "../../parts/field-help.tsx";
import { FormErrors } from "../../parts/form-errors.tsx";
import { BrowserOptions } from "../options/browser-options.tsx";
import { type Options, partRulesBelow } from "../options/fields.ts";
import { RecordSelect } from "../options/record-select.tsx";
import { givenOf, optionsBody } from "../options/values.ts";
import { FieldGroup, ProxyFields } from "../options/way-out-fields.tsx";
import { changeHost } from "./change-host.ts";

const RULES = rulesOf("PutHost");
const ALL_RULES = { ...RULES, ...partRulesBelow("browser_options") };

/** The text for each policy; the schema knows which policies there are. */
const POPUPS: Record<PopupPolicy, { label: string; description: string }> = {
  allow: { label: "Allow", description: "They open in their own tabs" },
  block: { label: "Block", description: "They are closed at once" },
  same_tab: { label: "Same tab", description: "What they would show opens in the same tab" },
};
const about = (field: keyof typeof RULES, text: string) => (
  <FieldHelp of="PutHost" field={field}>
    {text}
  </FieldHelp>
);
const POLICIES = (RULES.popup_policy.choices ?? []) as PopupPolicy[];

/** Without any, those that the host had are removed. */
const browserBody = (given: Options) =>
  Object.keys(given).length === 0 ? null : (optionsBody(given) as PutHost["browser_options"]);

/** Popup policy, recording, proxy, what pages see, and notes. */
export function SettingsTab({ host }: { host: Host }) {
  const { popup_policy, record, proxy, notes } = host;
  const browser_options = givenOf(host.browser_options ?? {});
  const { form, saving, props } = useApiForm({
    initial: { popup_policy, record, proxy, browser_options, notes },
    rules: ALL_RULES,
    bodyOf: (values) => ({ ...values, browser_options: browserBody(values.browser_options) }),
    send: (changes) => changeHost(host.host, () => changes),
    done: "The settings were saved",
    failed: "The settings were not saved",
    // With its login hidden.
    onDone: (stored): void => form.setFieldValue("proxy", stored.proxy),
  });
  const { values } = form;
  const changed =
    values.popup_policy !== popup_policy ||
    values.record !== record ||
    values.notes !== notes ||
    JSON.stringify(values.browser_options) !== JSON.stringify(browser_options) ||
    JSON.stringify(values.proxy) !== JSON.stringify(proxy);
  return (
    <form {...props}>
      <Stack maw={720}>
        <Radio.Group
          label="Popups"
          description={about("popup_policy", "What happens to windows that this host's pages open")}
          {...form.getInputProps("popup_policy")}
        >
          <Stack gap="xs" mt="xs">
            {POLICIES.map((policy) => (
              <Radio key={policy} value={policy} {...POPUPS[policy]} />
            ))}
          </Stack>
        </Radio.Group>
        <RecordSelect
          description={about(
            "record",
            "What is recorded of jobs and sessions of this host that do not say it themselves",
          )}
          otherwise="As the fleet's setting says"
          value={values.record}
          error={faultAt(form.errors, "record")}
          onChange={(next) => form.setFieldValue("record", next)}
        />
        <FieldGroup
          label="Proxy"
          description={about(
            "proxy",
            "Jobs and sessions of this host go out through it, where they name none. A login of *** is the one that is stored, and stays as long as the server does.",
          )}
        >
          <ProxyFields
            value={values.proxy}
            error={faultAt(form.errors, "proxy")}
            onChange={(next) => form.setFieldValue("proxy", next)}
          />
        </FieldGroup>
        <BrowserOptions
          given={values.browser_options}
          form={form}
          at="browser_options"
          onChange={(next) => form.setFieldValue("browser_options", next)}
        />
        <Textarea
          label="Notes"
          description={about(
            "notes",
            "For people: who owns the login, what to look out for. No secrets: everybody with access can read them.",
          )}
          autosize
          minRows={4}
          maxRows={20}
          {...form.getInputProps("notes")}
        />
        <FormErrors
          error={saving.error}
          title="The settings were not saved"
          fields={Object.keys(values)}
        />
        <Group>
          <Button type="submit" loading={saving.isPending} disabled={!changed}>
            Save settings
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

import {
  Group,
  SegmentedControl,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { call } from "../../lib/http.ts";
import { Ago } from "../../parts/text.tsx";
import { CreatedBy } from "./created-by.tsx";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

const RULES = rulesOf("PutSkill");

const NEW = {
  name: "",
  description: "",
  code: "",
  host_pattern: String(RULES.host_pattern.default),
  tags: [] as string[],
  created_by: RULES.created_by.default as Skill["created_by"],
  created_from_job: null as string | null,
};

const AUTHORS: Record<Skill["created_by"], string> = { operator: "Operator", ai: "AI" };

/** Every field of a skill; where it came from is kept as it is. */
export function SkillForm(props: FormProps<Skill>) {
  const { record } = props;
  const { slug: _, created_at: __, updated_at: ___, ...fields } = { ...record };
  return (
    <RegistryForm
      {...props}
      noun="skill"
      rules={RULES}
      initial={{ ...NEW, ...fields }}
      bodyOf={(values) => ({ ...values, host_pattern: values.host_pattern.trim() })}
      store={(slug, json) => call("PUT /skills/{slug}", { params: { slug }, json })}
      forget={(slug) => call("DELETE /skills/{slug}", { params: { slug } })}
      deleteText="Scripts that were written with it stay as they are."
    >
      {({ getInputProps }) => (
        <>
          {record ? (
            <Group gap="xs">
              <Text size="sm" c="dimmed">
                Created by
              </Text>
              <CreatedBy skill={record} />
              <Text size="sm" c="dimmed">
                <Ago at={record.created_at} />
              </Text>
            </Group>
          ) : (
            <Stack gap={4}>
              <Text size="sm" fw={500} id="created-by">
                Created by
              </Text>
              <SegmentedControl
                size="xs"
                aria-labelledby="created-by"
                data={Object.entries(AUTHORS).map(([value, label]) => ({ value, label }))}
                {...getInputProps("created_by")}
              />
            </Stack>
          )}
          <TextInput label="Name" {...getInputProps("name")} />
          <Textarea
            label="Description"
            description="What it does: the planner reads this"
            autosize
            minRows={2}
            maxRows={8}
            {...getInputProps("description")}
          />
          <TextInput
            label="Hosts"
            description="A glob on the host name: * for any, *.example.org for its subdomains"
            required
            classNames={{ input: "code-input" }}
            {...getInputProps("host_pattern")}
          />
          <TagsInput
            label="Tags"
            description="Enter adds one. While it is tagged offered, no planner receives it"
            {...getInputProps("tags")}
          />
          <Textarea
            label="Code"
            required
            autosize
            minRows={8}
            maxRows={24}
            spellCheck={false}
            classNames={{ input: "code-input" }}
            {...getInputProps("code")}
          />
        </>
      )}
    </RegistryForm>
  );
}

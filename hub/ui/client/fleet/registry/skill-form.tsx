import {
  Group,
  SegmentedControl,
  Stack,
  TagsInput,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { Ago } from "../../parts/text.tsx";
import { CreatedBy } from "./created-by.tsx";
import { RegistryForm } from "./registry-form.tsx";
import type { FormProps } from "./registry-page.tsx";

const NEW = {
  name: "",
  description: "",
  host_pattern: "*",
  code: "",
  tags: [] as string[],
  created_by: "operator" as Skill["created_by"],
  created_from_job: null as string | null,
};

/** Every field of a skill; where it came from is kept as it is. */
export function SkillForm(props: FormProps<Skill>) {
  const { record } = props;
  const [values, setValues] = useState(() => {
    const { slug: _, created_at: __, updated_at: ___, ...fields } = { ...record };
    return { ...NEW, ...fields };
  });
  const set = (changed: Partial<typeof NEW>) => setValues((before) => ({ ...before, ...changed }));
  return (
    <RegistryForm
      {...props}
      noun="skill"
      path="/skills"
      body={{ ...values, host_pattern: values.host_pattern.trim() }}
      deleteText="Scripts that were written with it stay as they are."
    >
      {(said) => (
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
                data={[
                  { value: "operator", label: "Operator" },
                  { value: "ai", label: "AI" },
                ]}
                value={values.created_by}
                onChange={(value) => set({ created_by: value as Skill["created_by"] })}
              />
            </Stack>
          )}
          <TextInput
            label="Name"
            value={values.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
            error={said("name")}
          />
          <Textarea
            label="Description"
            description="What it does: the planner reads this"
            autosize
            minRows={2}
            maxRows={8}
            value={values.description}
            onChange={(event) => set({ description: event.currentTarget.value })}
            error={said("description")}
          />
          <TextInput
            label="Hosts"
            description="A glob on the host name: * for any, *.example.org for its subdomains"
            required
            classNames={{ input: "code-input" }}
            value={values.host_pattern}
            onChange={(event) => set({ host_pattern: event.currentTarget.value })}
            error={said("host_pattern")}
          />
          <TagsInput
            label="Tags"
            description="Enter adds one. While it is tagged offered, no planner receives it"
            value={values.tags}
            onChange={(tags) => set({ tags })}
            error={said("tags")}
          />
          <Textarea
            label="Code"
            required
            autosize
            minRows={8}
            maxRows={24}
            spellCheck={false}
            classNames={{ input: "code-input" }}
            value={values.code}
            onChange={(event) => set({ code: event.currentTarget.value })}
            error={said("code")}
          />
        </>
      )}
    </RegistryForm>
  );
}

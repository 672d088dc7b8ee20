import { Badge, Button, Group, TextInput } from "@mantine/core";
import type { Skill } from "#shared/protocol/schema/skill.ts";
import { useFilters } from "../lib/filters.ts";
import { useChange, useGet } from "../lib/query.ts";
import type { Column } from "../parts/data-table.tsx";
import { Ago, Clip } from "../parts/text.tsx";
import { CreatedBy } from "./registry/created-by.tsx";
import { OFFERED, takeSkill } from "./registry/offered.ts";
import { RegistryPage } from "./registry/registry-page.tsx";
import { SkillForm } from "./registry/skill-form.tsx";

const EXAMPLE = `curl -X PUT ${location.origin}/skills/consent -H 'content-type: application/json' \\
  -d '{"host_pattern":"*.example.org","code":"await page.click(\\"#accept\\");"}'`;

function Accept({ skill }: { skill: Skill }) {
  const accept = useChange(takeSkill, {
    done: `${skill.slug} is given to the planner from now on`,
    failed: "The skill was not accepted",
  });
  return (
    <Button
      size="compact-xs"
      variant="light"
      loading={accept.isPending}
      onClick={() => accept.mutate(skill)}
      aria-label={`Accept ${skill.slug}`}
    >
      Accept
    </Button>
  );
}

const COLUMNS: Column<Skill>[] = [
  {
    key: "slug",
    title: "Slug",
    width: "minmax(130px, 1fr)",
    cell: ({ slug }) => <Clip text={slug} mono />,
  },
  {
    key: "name",
    title: "Name",
    width: "minmax(110px, 1fr)",
    from: "sm",
    cell: ({ name }) => <Clip text={name} />,
  },
  {
    key: "hosts",
    title: "Hosts",
    width: "minmax(110px, 1fr)",
    cell: ({ host_pattern }) => <Clip text={host_pattern} mono />,
  },
  {
    key: "code",
    title: "Code",
    width: "minmax(160px, 2fr)",
    from: "md",
    cell: ({ code }) => <Clip text={code} mono />,
  },
  {
    key: "tags",
    title: "Tags",
    width: "minmax(100px, 1fr)",
    cell: (skill) => (
      <Group gap={4} wrap="nowrap">
        {skill.tags.map((tag) => (
          <Badge key={tag} variant="default" className="status">
            {tag}
          </Badge>
        ))}
      </Group>
    ),
  },
  {
    key: "by",
    title: "Created by",
    width: "150px",
    from: "sm",
    cell: (skill) => <CreatedBy skill={skill} />,
  },
  {
    key: "updated",
    title: "Changed",
    width: "120px",
    from: "lg",
    cell: ({ updated_at }) => <Ago at={updated_at} />,
  },
  {
    key: "accept",
    title: "For the planner",
    width: "120px",
    cell: (skill) => (skill.tags.includes(OFFERED) ? <Accept skill={skill} /> : "given"),
  },
];

export function Page() {
  const [{ host, tag }, set] = useFilters({ host: "", tag: "" });
  const list = useGet("/skills", { query: { host, tag } });
  return (
    <RegistryPage
      title="Skills"
      noun="skill"
      list={list}
      recordsOf={({ skills }) => skills}
      narrowed={host !== "" || tag !== ""}
      note="Script snippets that the planner may use on their hosts. What a job leaves behind waits to be accepted."
      columns={COLUMNS}
      textOf={({ slug, name, description, code }) => `${slug} ${name} ${description} ${code}`}
      filters={
        <>
          <TextInput
            size="xs"
            w={150}
            aria-label="For host"
            placeholder="For host"
            value={host}
            onChange={(event) => set({ host: event.currentTarget.value })}
          />
          <TextInput
            size="xs"
            w={150}
            aria-label="With tag"
            placeholder="With tag"
            value={tag}
            onChange={(event) => set({ tag: event.currentTarget.value })}
          />
        </>
      }
      empty={{
        text: "Write what works on a site once; its scripts start from there.",
        command: EXAMPLE,
      }}
      Form={SkillForm}
    />
  );
}

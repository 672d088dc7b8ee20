import { Button, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import type { Preset } from "#shared/protocol/schema/preset.ts";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { ErrorNote } from "../../parts/states.tsx";
import { OptionsForm } from "../options/options-form.tsx";
import { givenOf, issuesOf } from "../options/values.ts";

const SLUG = /^[a-z0-9][a-z0-9._-]{0,63}$/;

interface PresetEditorProps {
  /** Undefined creates a new one. */
  preset?: Preset;
  /** Slugs in use: a new preset must not silently replace another one. */
  taken: readonly string[];
  onDone: () => void;
}

function slugError(slug: string, taken: readonly string[]): string | null {
  if (!SLUG.test(slug))
    return "must be 1 to 64 of a-z, 0-9, dot, hyphen and underscore, and begin with a letter or digit";
  return taken.includes(slug) ? "there is a preset of this name: edit that one" : null;
}

/** Names options of a job (rules/library#presets); the form is that of the submit page. */
export function PresetEditor({ preset, taken, onDone }: PresetEditorProps) {
  const [draft, setDraft] = useState({
    slug: preset?.slug ?? "",
    name: preset?.name ?? "",
    description: preset?.description ?? "",
    given: givenOf(preset?.options ?? {}),
  });
  const [refused, setRefused] = useState<string | null>(null);
  const save = useChange(
    ({ slug, given: options, ...rest }: typeof draft) =>
      call<Preset>("PUT", `/presets/${seg(slug)}`, { json: { ...rest, options } }),
    {
      done: ({ slug }) => `Preset ${slug} is saved`,
      failed: "The preset was not saved",
      quiet: true,
      onDone,
    },
  );
  const issues = issuesOf(save.error, ["slug", "name", "description"]);
  const change = (part: Partial<typeof draft>) => setDraft((before) => ({ ...before, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wrong = preset ? null : slugError(draft.slug, taken);
    setRefused(wrong);
    if (wrong === null) save.mutate(draft);
  };
  return (
    <form noValidate onSubmit={submit}>
      <Stack maw={860}>
        <Title order={2} size="h4" className="page-title">
          {preset ? `Preset ${preset.slug}` : "New preset"}
        </Title>
        {!preset && (
          <TextInput
            label="Slug"
            description="How jobs name it. It cannot be changed later."
            required
            value={draft.slug}
            error={refused ?? issues.fields.get("slug")}
            onChange={(event) => change({ slug: event.currentTarget.value })}
          />
        )}
        <TextInput
          label="Name"
          value={draft.name}
          error={issues.fields.get("name")}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <TextInput
          label="Description"
          value={draft.description}
          error={issues.fields.get("description")}
          onChange={(event) => change({ description: event.currentTarget.value })}
        />
        <OptionsForm given={draft.given} issues={issues} onChange={(given) => change({ given })} />
        {issues.fields.size > 0 && (
          <Text size="sm" c="red" role="alert">
            Not saved: see {[...issues.fields.keys()].join(", ")}.
          </Text>
        )}
        {issues.rest && <ErrorNote title="The preset was not saved" error={save.error} />}
        <Group>
          <Button type="submit" loading={save.isPending}>
            Save the preset
          </Button>
          <Button variant="default" onClick={onDone} disabled={save.isPending}>
            Back without saving
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

import {
  Anchor,
  Button,
  Group,
  Modal,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { asWritten, call, withQuery } from "../../../lib/http.ts";
import { hostHref, jobHref } from "../../../lib/links.ts";
import { tellDone, useChange } from "../../../lib/query.ts";
import { ErrorNote } from "../../../parts/states.tsx";
import type { ChosenStep } from "../recorded/chosen.ts";
import { toRecipe } from "../recorded/to-recipe.ts";
import { toScript } from "../recorded/to-script.ts";

/** What recorded steps can be saved as. */
export type SavedAs = "recipe" | "login" | "skill" | "job";

interface SaveDialogProps {
  steps: readonly ChosenStep[];
  as: readonly SavedAs[];
  /** Of the page that is open, for steps that begin on no page of their own. */
  url: string;
  onClose(): void;
}

const NAMES: Record<SavedAs, string> = {
  recipe: "Recipe",
  login: "Login recipe",
  skill: "Skill",
  job: "Rerun job",
};
const SAYS: Record<SavedAs, string> = {
  recipe: "Every capture of these paths runs the steps first.",
  login: "Every capture of the host logs in with them first.",
  skill: "Engines that write scripts for the host are shown it.",
  job: "A job runs the script now, and can be repeated.",
};
/** Of all steps of a recipe together. */
const TIMEOUT_S = 30;

const addressOf = (steps: readonly ChosenStep[], url: string): URL | null => {
  const at = toRecipe(steps).starts_at ?? url;
  return URL.canParse(at) ? new URL(at) : null;
};

const slugOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 64) || "recorded-steps";

const SAVED_MS = 15_000;
const tellSaved = (name: string, to: string): void =>
  tellDone(
    <>
      {name} saved.{" "}
      <Anchor component={Link} href={to} size="sm" underline="always">
        Show it
      </Anchor>
    </>,
    SAVED_MS,
  );

/** Saves the steps as what they can be. */
export function SaveDialog({ steps, as, url, onClose }: SaveDialogProps) {
  const [, navigate] = useLocation();
  const address = addressOf(steps, url);
  const [kind, setKind] = useState<SavedAs>(as[0] ?? "recipe");
  const [host, setHost] = useState(address?.hostname ?? "");
  const [pattern, setPattern] = useState(address?.pathname ?? "*");
  const [name, setName] = useState("");
  const save = useChange(() => saveAs(kind, { steps, host, pattern, name, url }), {
    failed: "It was not saved",
    quiet: true,
    onDone: (to) => {
      onClose();
      // A job is there to be watched; whoever saves something else goes on in the session.
      if (kind === "job") navigate(to);
      else tellSaved(NAMES[kind], to);
    },
  });
  const secrets = [
    ...new Set(steps.flatMap((step) => (step.kind === "fill" && step.secret ? [step.secret] : []))),
  ];
  return (
    <Modal opened onClose={onClose} title="Save the steps">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(undefined);
        }}
      >
        <Stack gap="sm">
          {as.length > 1 && (
            <SegmentedControl
              aria-label="Save as"
              value={kind}
              onChange={(value) => setKind(value as SavedAs)}
              data={as.map((value) => ({ value, label: NAMES[value] }))}
            />
          )}
          <Text size="sm">{SAYS[kind]}</Text>
          {kind !== "job" && (
            <TextInput
              label="Host"
              required
              value={host}
              onChange={(event) => setHost(event.currentTarget.value)}
            />
          )}
          {kind === "recipe" && (
            <TextInput
              label="Paths"
              description="Glob on the path: * any text, ? one character"
              required
              value={pattern}
              onChange={(event) => setPattern(event.currentTarget.value)}
            />
          )}
          {(kind === "recipe" || kind === "skill") && (
            <TextInput
              label={kind === "skill" ? "Name" : "Description"}
              required={kind === "skill"}
              data-autofocus
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
          )}
          {secrets.map(({ variable, host: of }) => (
            <Text key={variable} size="sm">
              The hub needs <code>{variable}</code> in its environment, and{" "}
              <code>
                SVC_RECIPE_ENV={variable}@{of}
              </code>
              .
            </Text>
          ))}
          {save.error && <ErrorNote error={save.error} title="It was not saved" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending}>
              {kind === "job" ? "Run the job" : "Save"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface Saving {
  steps: readonly ChosenStep[];
  host: string;
  pattern: string;
  name: string;
  url: string;
}

/** @returns the page of what was made. */
async function saveAs(kind: SavedAs, given: Saving): Promise<string> {
  const { steps, host, pattern, name, url } = given;
  const params = { host: host.trim() };
  if (kind === "recipe") {
    const json = {
      pattern,
      description: name,
      actions: toRecipe(steps).body,
      timeout_s: TIMEOUT_S,
    };
    const { recipes } = await call("POST /hosts/{host}/recipes", { params, json });
    return withQuery(hostHref(params.host), { recipe: recipes.length - 1 });
  }
  if (kind === "login") {
    const json = { actions: toRecipe(steps).body, logged_in: null, timeout_s: TIMEOUT_S };
    await call("PUT /hosts/{host}/login_recipe", { params, json });
    return withQuery(hostHref(params.host), { tab: "login" });
  }
  const { body: code, starts_at } = toScript(steps);
  if (kind === "skill") {
    const json = {
      name,
      description: `Recorded on ${starts_at ?? url}`,
      host_pattern: params.host,
      code,
    };
    const slug = slugOf(name);
    await call("PUT /skills/{slug}", { params: { slug }, json });
    return withQuery("/ui/library/skills", { edit: slug });
  }
  const { job_id } = await call("POST /jobs", {
    json: asWritten({ url: starts_at ?? url, options: { mode: "rerun", code } }),
  });
  return jobHref(job_id);
}

import { Anchor, Button, Stack, Text } from "@mantine/core";
import { Link } from "wouter";
import { counted } from "#shared/kit/words.ts";
import type { Host } from "#shared/protocol/schema/host.ts";
import type { Recipe } from "#shared/protocol/schema/recipe.ts";
import { withQuery } from "../../lib/http.ts";
import { hostHref } from "../../lib/links.ts";
import { countText } from "../../lib/units.ts";
import { Fact, FactList } from "../../parts/facts.tsx";
import { Moment, PanelActions, PanelPart } from "../../parts/panel-parts.tsx";

/** A host with browser cookies may have thousands; its page has all of them. */
const MOST_NAMES = 20;

/** A host beside its list: its recipes, its login, its cookies, and its notes in full. */
export function HostPanel({ host }: { host: Host }) {
  const { host: name, recipes, notes } = host;
  return (
    <Stack gap="md">
      <PanelActions href={hostHref(name)} open="Open host">
        <Button component={Link} href={withQuery("/ui/captures", { host: name })} variant="default">
          Show captures
        </Button>
      </PanelActions>
      <Facts host={host} />
      <PanelPart title="Recipes">
        {recipes.length === 0 ? (
          <Text size="sm" c="dimmed">
            It has no recipe.
          </Text>
        ) : (
          <ul className="panel-list">
            {recipes.map((recipe, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a recipe is known by its place
              <li key={index}>
                <RecipeLine host={name} recipe={recipe} index={index} />
              </li>
            ))}
          </ul>
        )}
      </PanelPart>
      {notes !== "" && (
        <PanelPart title="Notes">
          <Text size="sm" className="wrap">
            {notes}
          </Text>
        </PanelPart>
      )}
    </Stack>
  );
}

function Facts({ host }: { host: Host }) {
  const { login_recipe, cookies, popup_policy, updated_at } = host;
  return (
    <FactList label="Host">
      <Fact name="Login recipe">
        {login_recipe === null ? "no" : `yes, ${counted(login_recipe.actions.length, "step")}`}
      </Fact>
      <Fact name="Cookies">{countText(cookies.length)}</Fact>
      {cookies.length > 0 && (
        <Fact name="Cookie names">
          <CookieNames names={cookies.map((cookie) => cookie.name)} />
        </Fact>
      )}
      <Fact name="Popups">{popup_policy.replace("_", " ")}</Fact>
      <Fact name="Changed">
        <Moment at={updated_at} />
      </Fact>
    </FactList>
  );
}

/** Each name once, although several domains may have a cookie of it. Values are never shown. */
function CookieNames({ names }: { names: readonly string[] }) {
  const all = [...new Set(names)];
  const more = all.length - MOST_NAMES;
  return (
    <>
      {all.slice(0, MOST_NAMES).join(", ")}
      {more > 0 && ` and ${countText(more)} more`}
    </>
  );
}

interface RecipeLineProps {
  host: string;
  recipe: Recipe;
  index: number;
}

/** What a recipe is for, and how long it is; its paths lead to it. */
function RecipeLine({ host, recipe, index }: RecipeLineProps) {
  const { pattern, description, actions, enabled } = recipe;
  const steps = counted(actions.length, "step");
  return (
    <>
      <Anchor
        component={Link}
        href={withQuery(hostHref(host), { recipe: index })}
        size="sm"
        ff="monospace"
        className="wrap"
      >
        {pattern}
      </Anchor>
      {description !== "" && (
        <Text size="sm" className="wrap">
          {description}
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {enabled === false ? `${steps}, not used` : steps}
      </Text>
    </>
  );
}

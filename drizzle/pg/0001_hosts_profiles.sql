CREATE TABLE "hosts" (
	"host" text PRIMARY KEY NOT NULL,
	"recipes" jsonb NOT NULL,
	"login_recipe" jsonb,
	"popup_policy" text NOT NULL,
	"notes" text NOT NULL,
	"cookies" jsonb NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "profiles" (
	"name" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"files" integer NOT NULL,
	"sha256" text NOT NULL,
	"is_default" boolean NOT NULL,
	"source_browser" text,
	"created_at" bigint NOT NULL,
	"updated_at" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "assets" ADD COLUMN "refetched" boolean DEFAULT false NOT NULL;
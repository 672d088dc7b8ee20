CREATE TABLE "worker_restarts" (
	"worker_id" text PRIMARY KEY NOT NULL,
	"window_at" bigint NOT NULL,
	"used" integer NOT NULL,
	"busy_until" bigint,
	"last_at" bigint NOT NULL,
	"exit_code" integer,
	"error" text
);
--> statement-breakpoint
ALTER TABLE "agents" ADD COLUMN "agent_id" text;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "seq" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "problem" text;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "problem_at" bigint;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "told" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "action" text;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "reason" text;--> statement-breakpoint
ALTER TABLE "supervised" ADD COLUMN "action_at" bigint;
ALTER TABLE "assets" ADD COLUMN "frame_url" text;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "idempotency_keys" ADD COLUMN "leased_until" bigint;--> statement-breakpoint
ALTER TABLE "tasks" ADD COLUMN "follows_workload" boolean DEFAULT false NOT NULL;
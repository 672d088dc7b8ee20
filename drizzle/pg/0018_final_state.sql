ALTER TABLE "jobs" ADD COLUMN "final_state" jsonb;--> statement-breakpoint
ALTER TABLE "jobs" ADD COLUMN "answer" jsonb;
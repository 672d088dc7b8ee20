ALTER TABLE "recordings" ADD COLUMN "has_screen" boolean DEFAULT false NOT NULL;
--> statement-breakpoint
UPDATE "recordings" SET "has_screen" = true WHERE jsonb_array_length("contents"->'chunks') > 0;
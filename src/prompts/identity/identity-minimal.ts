import { defineTemplate } from "../template.ts";

/** The identity when nothing else can be used. */
export const identityMinimal = defineTemplate({
  name: "identity_minimal",
  title: { en: "Identity: shortest", zh: "身份：最小" },
  description: "Stands in where an identity would be empty.",
  content: "You are a careful assistant. Answer in the user's language, briefly, and do exactly what was asked.",
});

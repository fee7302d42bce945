import { openStage } from "./stage.ts";
import { checkAccessibility } from "./suites/accessibility.ts";

checkAccessibility(openStage(), true);

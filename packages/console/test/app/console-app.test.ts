/** The application in Chromium over PostgreSQL. One file, because the build, the browser and the server are shared. */
import { openStage } from "./stage.ts";
import { checkAccessibility } from "./suites/accessibility.ts";
import { checkChanges } from "./suites/changes.ts";
import { checkCounts } from "./suites/counts.ts";
import { checkFlag } from "./suites/flag.ts";
import { checkHostileTexts } from "./suites/hostile-texts.ts";
import { checkList } from "./suites/list.ts";
import { checkOrganizations } from "./suites/organizations.ts";
import { checkScreens } from "./suites/screens.ts";
import { checkSigningIn } from "./suites/signing-in.ts";
import { checkSize } from "./suites/size.ts";

const stage = openStage();

checkSize();
// First, because axe takes longer for a longer list.
checkAccessibility(stage, false);
checkSigningIn(stage);
checkList(stage);
checkFlag(stage);
checkCounts(stage);
checkScreens(stage);
checkHostileTexts(stage);
checkChanges(stage);
checkOrganizations(stage);

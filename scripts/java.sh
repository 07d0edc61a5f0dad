#!/bin/sh
# java.sh  prints the home of a Java that Spark can run on: version 17 or newer, with the module
# jdk.incubator.vector that Spark starts with (Java that comes inside Python packages lacks it).
# Looks at JAVA_HOME, PATH and the usual folders; else installs one where apt-get may be used.
set -eu
cd "$(dirname "$0")"

# home_of PROGRAM  prints the home of this `java` if Spark can run on it.
home_of() {
    [ -x "$1" ] || return 1
    settings=$("$1" -XshowSettings:properties -version 2>&1) || return 1
    version=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.specification\.version = \([0-9]*\).*/\1/p')
    home=$(printf '%s\n' "$settings" | sed -n 's/^ *java\.home = //p')
    [ -n "$home" ] && [ "${version:-0}" -ge 17 ] || return 1
    "$1" --list-modules 2>/dev/null | grep -q '^jdk\.incubator\.vector@' || return 1
    printf '%s\n' "$home"
}

find_java() {
    if [ -n "${JAVA_HOME:-}" ] && home_of "$JAVA_HOME/bin/java"; then return 0; fi
    on_path=$(command -v java) && home_of "$on_path" && return 0
    for candidate in /usr/lib/jvm/*17*/bin/java /usr/lib/jvm/*21*/bin/java /usr/lib/jvm/*/bin/java \
        /opt/java/*/bin/java /opt/jdk*/bin/java /usr/local/openjdk*/bin/java /usr/java/*/bin/java \
        "${HOME:-/nonexistent}"/.sdkman/candidates/java/*/bin/java "${HOME:-/nonexistent}"/.jdks/*/bin/java \
        /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java /opt/homebrew/opt/openjdk*/bin/java; do
        home_of "$candidate" && return 0
    done
    return 1
}

find_java && exit 0
if ./apt-install.sh openjdk-17-jre-headless && find_java; then exit 0; fi
echo "no Java 17 or newer was found: install one (Debian and Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME" >&2
exit 1

#include "base/config.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"

/* --- values --------------------------------------------------------------------------------------- */

struct holder {
    struct config config; /* first: a config is its holder */
    gatomicrefcount references;
};

static void *field_of(struct config *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

static char **split_list(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    for (char **w = words; *w; w++)
        if (*g_strstrip(*w))
            g_ptr_array_add(list, g_strdup(*w));
    g_ptr_array_add(list, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&list), FALSE);
}

static bool parse_bool(const char *text, bool *out)
{
    static const char *const words[] = { "no", "yes", "false", "true", "off", "on", "0", "1" };
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_ascii_strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    return false;
}

static bool parse_unsigned(const char *text, unsigned base, unsigned *out)
{
    guint64 value;
    if (!g_ascii_string_to_unsigned(text, base, 0, base == 8 ? 07777 : INT32_MAX, &value, NULL))
        return false;
    *out = (unsigned)value;
    return true;
}

static bool parse_similarity(const char *text, double *out)
{
    char *end;
    double value = g_ascii_strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 1))
        return false;
    *out = value;
    return true;
}

static bool parse_choice(const char *text, const char *const *choices, int *out)
{
    for (int i = 0; choices[i]; i++)
        if (g_ascii_strcasecmp(text, choices[i]) == 0) {
            *out = i;
            return true;
        }
    return false;
}

static void set_string(char **field, const char *text)
{
    g_free(*field);
    *field = g_strdup(text);
}

static bool set_value(struct config *config, const struct config_key *key, const char *text)
{
    void *field = field_of(config, key);
    switch (key->type) {
    case CONFIG_STRING:
        set_string(field, text);
        return true;
    case CONFIG_LIST:
        g_strfreev(*(char ***)field);
        *(char ***)field = split_list(text);
        return true;
    case CONFIG_BOOL:
        return parse_bool(text, field);
    case CONFIG_UNSIGNED:
        return parse_unsigned(text, 10, field);
    case CONFIG_OCTAL:
        return parse_unsigned(text, 8, field);
    case CONFIG_SIMILARITY:
        return parse_similarity(text, field);
    case CONFIG_TIME:
        return units_parse_time(text, field) && *(int64_t *)field > 0;
    case CONFIG_SIZE:
        return units_parse_size(text, field) && *(uint64_t *)field > 0;
    case CONFIG_CHOICE:
        return parse_choice(text, key->choices, field);
    }
    return false;
}

/* What may be written there, to end "use …". */
static char *allowed(const struct config_key *key)
{
    g_autofree char *choices = NULL;
    switch (key->type) {
    case CONFIG_BOOL:
        return g_strdup("yes or no");
    case CONFIG_UNSIGNED:
        return g_strdup("a whole number, 0 or more");
    case CONFIG_OCTAL:
        return g_strdup("a mode in octal, such as 0660");
    case CONFIG_SIMILARITY:
        return g_strdup("a number from 0 to 1, such as 0.71");
    case CONFIG_TIME:
        return g_strdup("a time with its unit, such as 200ms, 5s, 10m, 2h or 30d");
    case CONFIG_SIZE:
        return g_strdup("a size, such as 512, 64K, 10M or 2G");
    case CONFIG_CHOICE:
        choices = g_strjoinv(", ", (char **)key->choices);
        return g_strdup_printf("one of %s", choices);
    case CONFIG_STRING:
    case CONFIG_LIST:
        break;
    }
    return g_strdup("text");
}

/* --- rules that one value alone does not show ------------------------------------------------------ */

/* "550 5.7.1": a reply of class 5, and an enhanced code of the same class. */
static bool is_reject_code(const char *text)
{
    return g_regex_match_simple("^5[0-9]{2} 5\\.[0-9]{1,3}\\.[0-9]{1,3}$", text, G_REGEX_DEFAULT,
                                G_REGEX_MATCH_DEFAULT);
}

/* A reply is one line of at most 512 bytes with code and CRLF; a campaign's id takes 16. */
#define LINE_TEXT_MAX 400

static bool is_line(const char *text)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
            return false;
    return strlen(text) <= LINE_TEXT_MAX;
}

static bool check_rules(const struct config *c, const char *path, GError **error)
{
    const struct {
        const char *section, *name;
        bool kept;
        const char *remedy;
    } rules[] = {
        { "milter", "max-connections", c->milter.max_connections > 0, "use 1 or more" },
        { "match", "reject-similarity", c->match.reject_similarity >= c->match.tag_similarity,
          "use a number that is not below tag-similarity" },
        { "match", "min-terms", c->match.min_terms >= 5, "use 5 or more" },
        { "match", "min-shared", c->match.min_shared > 0, "use 1 or more" },
        { "action", "reject-code", is_reject_code(c->action.reject_code),
          "use a reply code and an enhanced code of class 5, such as 550 5.7.1" },
        { "action", "subject-prefix", is_line(c->action.subject_prefix),
          "use one line of ASCII, at most 400 characters" },
        { "action", "reject-text", *c->action.reject_text && is_line(c->action.reject_text),
          "use one line of ASCII, at most 400 characters" },
        { "report", "clean-days", c->report.clean_days >= 1 && c->report.clean_days <= 7, "use 1 to 7" },
        { "limits", "parts", c->limits.parts > 0, "use 1 or more" },
        { "limits", "terms", c->limits.terms >= 5, "use 5 or more" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rules); i++) {
        if (rules[i].kept)
            continue;
        g_autofree char *where = config_where(path, rules[i].section, rules[i].name);
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s: %s in [%s] is not allowed: %s", where,
                    rules[i].name, rules[i].section, rules[i].remedy);
        return false;
    }
    return true;
}

/* --- the file -------------------------------------------------------------------------------------- */

/* GKeyFile knows no lines. They are only needed once something is wrong, so the text is read again then. */
struct line_search {
    const char *section,
        *name; /* name NULL: the section's own line; both NULL: the first line that is nonsense */
};

static unsigned find_line(const char *text, struct line_search wanted)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    g_autofree char *section = g_strdup("");
    for (unsigned i = 0; lines[i]; i++) {
        char *line = g_strstrip(lines[i]);
        char *close = line[0] == '[' ? strrchr(line, ']') : NULL;
        char *equals = strchr(line, '=');
        if (!*line || *line == '#')
            continue;
        if (close) {
            g_free(section);
            section = g_strndup(line + 1, (gsize)(close - line - 1));
            if (wanted.section && !wanted.name && strcmp(section, wanted.section) == 0)
                return i + 1;
        } else if (!equals || !*section) {
            if (!wanted.section)
                return i + 1;
        } else if (wanted.name && strcmp(section, wanted.section) == 0) {
            *equals = '\0';
            if (strcmp(g_strchomp(line), wanted.name) == 0)
                return i + 1;
        }
    }
    return 0;
}

static char *where_in(const char *path, const char *text, struct line_search wanted)
{
    unsigned line = find_line(text, wanted);
    return line ? g_strdup_printf("%s:%u", path, line) : g_strdup(path);
}

char *config_where(const char *path, const char *section, const char *name)
{
    g_autofree char *text = NULL;
    if (!g_file_get_contents(path, &text, NULL, NULL))
        return g_strdup(path);
    return where_in(path, text, (struct line_search) { section, name });
}

static const struct config_key *find_key(const char *section, const char *name)
{
    size_t n;
    const struct config_key *table = config_keys(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].section, section) == 0 && (!name || strcmp(table[i].name, name) == 0))
            return &table[i];
    return NULL;
}

/* "socket, user, …", or with no section the sections. */
static char *known_names(const char *section)
{
    size_t n;
    const struct config_key *table = config_keys(&n);
    GString *names = g_string_new(NULL);
    const char *last = "";
    for (size_t i = 0; i < n; i++) {
        const char *name = section ? table[i].name : table[i].section;
        if ((section && strcmp(section, table[i].section) != 0) || strcmp(name, last) == 0)
            continue;
        g_string_append_printf(names, "%s%s", names->len ? ", " : "", name);
        last = name;
    }
    return g_string_free(names, FALSE);
}

struct reading {
    const char *path, *text;
    GKeyFile *file;
    struct config *config;
};

static bool refuse_unknown(const struct reading *r, const char *section, const char *name, GError **error)
{
    g_autofree char *where = where_in(r->path, r->text, (struct line_search) { section, name });
    g_autofree char *known = known_names(name ? section : NULL);
    if (name)
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s: no such key in [%s]: %s: use one of %s",
                    where, section, name, known);
    else
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s: no such section: [%s]: use one of %s",
                    where, section, known);
    return false;
}

static bool read_key(const struct reading *r, const char *section, const char *name, GError **error)
{
    const struct config_key *key = find_key(section, name);
    if (!key)
        return refuse_unknown(r, section, name, error);
    g_autofree char *value = g_key_file_get_string(r->file, section, name, NULL);
    if (value && set_value(r->config, key, g_strchomp(value)))
        return true;
    g_autofree char *where = where_in(r->path, r->text, (struct line_search) { section, name });
    g_autofree char *may_be = allowed(key);
    g_autofree char *raw = g_key_file_get_value(r->file, section, name, NULL);
    g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG, "%s: %s cannot be \"%s\": use %s", where, name,
                raw ? raw : "", may_be);
    return false;
}

static bool read_section(const struct reading *r, const char *section, GError **error)
{
    if (!find_key(section, NULL))
        return refuse_unknown(r, section, NULL, error);
    g_auto(GStrv) names = g_key_file_get_keys(r->file, section, NULL, NULL);
    for (char **name = names; name && *name; name++)
        if (!read_key(r, section, *name, error))
            return false;
    return true;
}

static bool read_text(const struct reading *r, GError **error)
{
    g_autoptr(GError) cause = NULL;
    if (!g_key_file_load_from_data(r->file, r->text, strlen(r->text), G_KEY_FILE_NONE, &cause)) {
        g_autofree char *where = where_in(r->path, r->text, (struct line_search) { NULL, NULL });
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                    "%s: not a configuration line (%s): write [section], key = value, or # and a comment",
                    where, cause->message);
        return false;
    }
    g_auto(GStrv) sections = g_key_file_get_groups(r->file, NULL);
    for (char **section = sections; *section; section++)
        if (!read_section(r, *section, error))
            return false;
    return check_rules(r->config, r->path, error);
}

/* --- the public functions --------------------------------------------------------------------------- */

struct config *config_new(void)
{
    size_t n;
    const struct config_key *table = config_keys(&n);
    struct holder *holder = g_new0(struct holder, 1);
    g_atomic_ref_count_init(&holder->references);
    for (size_t i = 0; i < n; i++)
        if (!set_value(&holder->config, &table[i], table[i].initial))
            g_error("config: the default of %s is not allowed", table[i].name);
    return &holder->config;
}

struct config *config_load(const char *path, GError **error)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) cause = NULL;
    if (!g_file_get_contents(path, &text, NULL, &cause)) {
        g_set_error(error, REFRAIN_ERROR, REFRAIN_ERROR_CONFIG,
                    "the configuration cannot be read: %s: create it or name another one with --config",
                    cause->message);
        return NULL;
    }
    g_autoptr(GKeyFile) file = g_key_file_new();
    struct config *config = config_new();
    if (!read_text(&(struct reading) { path, text, file, config }, error)) {
        config_unref(config);
        return NULL;
    }
    return config;
}

struct config *config_ref(struct config *config)
{
    g_atomic_ref_count_inc(&((struct holder *)config)->references);
    return config;
}

void config_unref(struct config *config)
{
    if (!config || !g_atomic_ref_count_dec(&((struct holder *)config)->references))
        return;
    size_t n;
    const struct config_key *table = config_keys(&n);
    for (size_t i = 0; i < n; i++) {
        void *field = field_of(config, &table[i]);
        if (table[i].type == CONFIG_STRING)
            g_free(*(char **)field);
        else if (table[i].type == CONFIG_LIST)
            g_strfreev(*(char ***)field);
    }
    g_free(config);
}

const char *config_default_path(void)
{
    return SYSCONFDIR "/refrain/refrain.conf";
}

"""Made by tests/support/compat_stub.py from pipeline/compat/names.py."""

from pipeline.compat.platform.flags import (
    CantOpenFlagFileError as CantOpenFlagFileError, DEFINE_alias as DEFINE_alias, DEFINE_bool as DEFINE_bool,
    DEFINE_boolean as DEFINE_boolean, DEFINE_enum as DEFINE_enum, DEFINE_enum_class as DEFINE_enum_class,
    DEFINE_flag as DEFINE_flag, DEFINE_float as DEFINE_float, DEFINE_integer as DEFINE_integer,
    DEFINE_list as DEFINE_list, DEFINE_multi_enum as DEFINE_multi_enum,
    DEFINE_multi_enum_class as DEFINE_multi_enum_class, DEFINE_multi_float as DEFINE_multi_float,
    DEFINE_multi_integer as DEFINE_multi_integer, DEFINE_multi_string as DEFINE_multi_string,
    DEFINE_spaceseplist as DEFINE_spaceseplist, DEFINE_string as DEFINE_string,
    DuplicateFlagError as DuplicateFlagError, Error as Error, FLAGS as FLAGS, Flag as Flag, FlagHolder as FlagHolder,
    FlagNameConflictsWithMethodError as FlagNameConflictsWithMethodError, FlagValues as FlagValues,
    IllegalFlagValueError as IllegalFlagValueError, UnparsedFlagAccessError as UnparsedFlagAccessError,
    UnrecognizedFlagError as UnrecognizedFlagError, ValidationError as ValidationError,
    adopt_module_key_flags as adopt_module_key_flags, declare_key_flag as declare_key_flag,
    disclaim_key_flags as disclaim_key_flags,
    mark_bool_flags_as_mutual_exclusive as mark_bool_flags_as_mutual_exclusive,
    mark_flag_as_required as mark_flag_as_required, mark_flags_as_mutual_exclusive as mark_flags_as_mutual_exclusive,
    mark_flags_as_required as mark_flags_as_required, multi_flags_validator as multi_flags_validator,
    register_multi_flags_validator as register_multi_flags_validator, register_validator as register_validator,
    set_default as set_default, validator as validator,
)
